"""Group versions that another server serves."""
