"""Workload kinds with a pod template: shared validation, defaulting and printing.

Follows ``pkg/apis/apps/validation/validation.go``, release 1.30.
"""
