"""Rbac."""
