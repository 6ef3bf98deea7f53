"""Access in the past: states of a cluster between moments, from dumps and audit logs."""
