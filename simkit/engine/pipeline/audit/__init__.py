"""Audit: the policy, the events and their backends."""
