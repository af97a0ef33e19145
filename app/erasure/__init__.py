"""Erasure: a user forgotten in every store, with a certificate that says what was there, and a check that can be
repeated.
"""
