"""Subresources that take or give another kind than their object's: binding, eviction, scale, token, connections."""
