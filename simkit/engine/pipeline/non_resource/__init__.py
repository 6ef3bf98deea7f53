"""Non resource."""
