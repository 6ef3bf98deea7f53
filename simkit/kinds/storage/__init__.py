"""Strategies of the group storage."""
