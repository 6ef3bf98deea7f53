"""Defaulting of pod specs and their volumes.

Follows ``pkg/apis/core/v1/defaults.go``, release 1.30.
"""
