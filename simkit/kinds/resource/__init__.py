"""Strategies of the group resource (dynamic resource allocation)."""
