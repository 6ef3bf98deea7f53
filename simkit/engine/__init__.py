"""The API server. Read seams.py first, then pipeline."""
