"""Strategies of the group networking."""
