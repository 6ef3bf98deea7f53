"""Which kinds exist at which release, and what is valid: data and one pass over it."""
