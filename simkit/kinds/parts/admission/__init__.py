"""Webhook configurations and admission policies: defaulting and validation.

Follows ``pkg/apis/admissionregistration/validation/validation.go``, release 1.30.
"""
