"""Definitions of custom resources."""
