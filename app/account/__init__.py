"""What there is of the caller: how many items of each kind, and how much of what is allowed."""
