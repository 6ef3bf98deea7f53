"""Versions in which servers store."""
