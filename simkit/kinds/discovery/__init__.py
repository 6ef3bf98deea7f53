"""Strategies of the group discovery."""
