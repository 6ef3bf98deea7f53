"""Subresources."""
