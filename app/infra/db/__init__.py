"""PostgreSQL: the declarations' base, the engine, and the doors to a transaction."""
