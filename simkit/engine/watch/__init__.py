"""The watch cache, and the watchers that read it."""
