"""Strategies of the group internal.apiserver."""
