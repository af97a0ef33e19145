"""Cairn: memory as a service for AI agents."""
