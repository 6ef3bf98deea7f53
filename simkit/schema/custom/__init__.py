"""Schemas of custom resources: schema nodes, defaulting, validation."""
