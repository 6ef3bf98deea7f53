"""Strategies of the group scheduling."""
