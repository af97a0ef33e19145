"""What all routes share and no route: identity, problem details, preconditions, idempotency, limits."""
