"""Signing requests and bundles of trust."""
