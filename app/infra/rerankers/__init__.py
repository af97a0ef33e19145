"""Models that put found texts in order: the port, and a served one."""
