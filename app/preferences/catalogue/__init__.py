"""The catalogue: which keys of preferences a tenant knows, what their values may be, and how they are treated."""
