"""Files into texts: what a file is, its encoding, and what is in it, read in a process of its own."""
