"""The read-only door to objects: memory, dumps, overlays, differences."""
