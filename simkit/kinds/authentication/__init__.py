"""Strategies of the group authentication."""
