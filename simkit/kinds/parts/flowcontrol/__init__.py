"""Flow schemas and priority levels: validation, and the mandatory objects.

Follows ``pkg/apis/flowcontrol/validation/validation.go``, release 1.30.
"""
