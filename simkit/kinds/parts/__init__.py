"""Pieces that several kinds share, by subject, with validation, defaulting and printing in modules of their own."""
