"""Strategies of the group certificates."""
