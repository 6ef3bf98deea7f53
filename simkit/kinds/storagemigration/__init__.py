"""Migrations of stored objects."""
