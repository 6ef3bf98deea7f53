"""What is special about each built-in kind, one file per kind."""
