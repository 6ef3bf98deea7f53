"""Strategies of the group apiregistration."""
