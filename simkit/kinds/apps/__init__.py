"""Strategies of the group apps."""
