"""The server's metrics and their stability levels."""
