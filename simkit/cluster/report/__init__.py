"""Notebooks run to their end and written as one HTML file."""
