"""Audit: what is recorded of requests, by which policy, and where events go."""
