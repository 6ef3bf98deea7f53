"""Stores: the objects at every available revision."""
