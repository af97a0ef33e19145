"""Preferences: what the user wants, by key, in versions that say who stated what and when."""
