"""The patterns of numbers that a tenant never stores: operators register them, and what comes in is masked."""
