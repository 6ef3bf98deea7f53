"""Runtime classes."""
