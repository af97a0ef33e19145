"""The audit as users and operators see it: their trail, and whether it is whole."""
