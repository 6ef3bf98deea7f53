"""What is true, at which revision."""
