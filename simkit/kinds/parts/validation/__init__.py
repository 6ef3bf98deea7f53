"""Validation of values, metadata and references in objects of many kinds.

Follows ``k8s.io/apimachinery/pkg/api/validation`` and ``pkg/apis/core/validation``, release 1.30.
"""
