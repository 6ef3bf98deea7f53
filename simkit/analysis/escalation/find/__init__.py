"""The escalation graph of a snapshot, and the paths in it."""
