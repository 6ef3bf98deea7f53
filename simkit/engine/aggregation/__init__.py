"""Group-versions that another server answers for."""
