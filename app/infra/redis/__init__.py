"""Redis: the hot copy. It can be emptied at any moment; nothing is kept here alone, and everything here is sealed."""
