"""Cells of Table rows that the printers of several kinds share.

Follows ``pkg/printers/internalversion/printers.go``, release 1.30.
"""
