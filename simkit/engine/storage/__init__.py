"""Stores: the objects at every revision that is still known."""
