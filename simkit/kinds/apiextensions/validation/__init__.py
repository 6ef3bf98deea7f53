"""Validation of CustomResourceDefinitions.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``, release 1.30.
"""
