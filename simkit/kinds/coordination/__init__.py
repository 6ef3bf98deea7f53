"""Strategies of the group coordination."""
