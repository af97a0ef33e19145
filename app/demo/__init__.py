"""The demonstration: a story, or a conversation and documents of your own, played over HTTP against a service."""
