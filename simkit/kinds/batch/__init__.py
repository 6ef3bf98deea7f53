"""Strategies of the group batch."""
