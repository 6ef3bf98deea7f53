"""Subresources with another kind than their parent's: binding, eviction, scale, token, connections."""
