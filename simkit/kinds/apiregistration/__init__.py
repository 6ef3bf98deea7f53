"""Registered group versions."""
