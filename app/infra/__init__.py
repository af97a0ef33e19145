"""What speaks to machines: databases, caches, vector stores, models, and the embedded servers."""
