"""Services: defaulting, preparation for updates, validation.

Follows ``pkg/apis/core/validation``, ``pkg/apis/core/v1/defaults.go`` and ``pkg/registry/core/service``, release 1.30.
"""
