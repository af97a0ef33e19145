"""Session memory: where the agent is now. The record of messages, its window and summary, and recall over it."""
