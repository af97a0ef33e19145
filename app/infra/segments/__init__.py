"""The sealed index of what is searched by words and by meaning: messages and chunks, in segments of 512 items."""
