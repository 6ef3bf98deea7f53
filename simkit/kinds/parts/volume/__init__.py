"""Persistent volumes and claims: validation of their specs and sources.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""
