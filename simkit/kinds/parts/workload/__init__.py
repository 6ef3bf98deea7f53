"""Workload kinds that make pods from a template: validation, defaulting and printing that they share.

Follows ``pkg/apis/apps/validation/validation.go``, release 1.30.
"""
