"""Representations, widgets and reports for notebooks."""
