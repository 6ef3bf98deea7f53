"""Roles and bindings."""
