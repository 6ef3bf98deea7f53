"""The table of escalation primitives and risky permissions, read from ``datasets/escalation``."""
