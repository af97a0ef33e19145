"""Access: what operators do about the tokens of their tenant's users."""
