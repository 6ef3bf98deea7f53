"""Authorizers, and the check against privilege escalation."""
