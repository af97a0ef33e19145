"""Registered secrets: values that are compared and never stored, and tokens that say that one was right."""
