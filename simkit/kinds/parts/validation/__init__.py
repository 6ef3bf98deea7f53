"""Validation of values, metadata and references that objects of many kinds carry.

Follows ``k8s.io/apimachinery/pkg/api/validation`` and ``pkg/apis/core/validation``, release 1.30.
"""
