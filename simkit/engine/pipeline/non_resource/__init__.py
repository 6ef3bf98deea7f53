"""Paths that are no resources: health, metrics, discovery, OpenAPI, issuer discovery and version."""
