"""Claims of devices."""
