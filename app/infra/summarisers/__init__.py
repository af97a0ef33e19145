"""Summaries of what left the window: the user's constraints in their words and first, then the gist of the rest."""
