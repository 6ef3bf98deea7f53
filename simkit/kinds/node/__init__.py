"""Strategies of the group node."""
