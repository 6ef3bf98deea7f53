"""Objects as kubectl describes them, one file per family of kinds."""
