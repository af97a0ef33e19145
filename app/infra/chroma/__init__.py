"""ChromaDB: one collection per user and model, turned vectors under opaque ids, nothing else."""
