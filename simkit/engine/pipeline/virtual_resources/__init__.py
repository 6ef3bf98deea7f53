"""Virtual resources."""
