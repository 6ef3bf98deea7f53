"""Flow schemas and priority levels: validation, and the objects that every server has.

Follows ``pkg/apis/flowcontrol/validation/validation.go``, release 1.30.
"""
