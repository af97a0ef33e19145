"""Memories: facts without a key, in versions that say who said them; and the one list of everything remembered."""
