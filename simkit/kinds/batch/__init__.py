"""Workloads that run to an end."""
