"""Representation."""
