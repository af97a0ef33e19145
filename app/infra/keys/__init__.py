"""The key store: who stands behind a reference, and the keys that make their data readable. A database of its own."""
