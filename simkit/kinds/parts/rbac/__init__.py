"""Roles and bindings: defaulting and validation.

Follows ``pkg/apis/rbac/validation/validation.go``, release 1.30.
"""
