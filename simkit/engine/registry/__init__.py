"""Object rules: defaulted, valid, versioned, owned."""
