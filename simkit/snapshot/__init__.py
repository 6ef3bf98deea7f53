"""The read-only access to objects: memory, dumps, overlays, differences."""
