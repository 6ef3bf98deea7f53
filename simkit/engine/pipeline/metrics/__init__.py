"""What the server counts, and the stability levels of its metrics."""
