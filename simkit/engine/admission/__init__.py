"""Admission plugins, and the chain that calls them."""
