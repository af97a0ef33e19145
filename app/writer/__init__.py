"""The writer: what messages state becomes memory."""
