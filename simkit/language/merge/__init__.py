"""Patches, field sets and server-side apply."""
