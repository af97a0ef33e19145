"""Texts into vectors: one port, four models behind it, and the service that keeps them out of the event loop."""
