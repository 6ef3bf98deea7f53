"""Filters of the handler chain that need a module of their own."""
