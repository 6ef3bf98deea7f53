"""Validation of pods and pod templates, one part of the spec a module.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""
