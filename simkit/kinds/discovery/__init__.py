"""Endpoint slices."""
