"""What each kind of memory cost, and how often it was marked useful: per user, agent and day."""
