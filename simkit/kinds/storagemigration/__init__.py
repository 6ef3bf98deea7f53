"""Strategies of the group storagemigration."""
