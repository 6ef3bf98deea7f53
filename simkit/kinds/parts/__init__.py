"""Pieces that kinds share."""
