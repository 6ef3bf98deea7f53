"""Schemas of custom resources: from what a definition says to nodes, defaults and checks of values."""
