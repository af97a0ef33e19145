"""Knowledge: the documents that a user gave, cut into chunks, searched by words and by meaning, and let go of."""
