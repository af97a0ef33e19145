"""What every feature speaks: ids, scope, errors, versions and the protocols that features meet at. Pure."""
