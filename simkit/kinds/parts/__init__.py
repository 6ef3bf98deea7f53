"""Pieces that several kinds share: rooms by subject, and in each room validation, defaulting and printing apart."""
