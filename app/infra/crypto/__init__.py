"""Sealing, signing and turning: everything that knows a key, and nothing that stores one."""
