"""Proofs: paths that are executed on a fork, request by request."""
