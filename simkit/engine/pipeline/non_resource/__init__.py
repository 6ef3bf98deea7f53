"""Non-resource paths: health, metrics, discovery, OpenAPI, issuer discovery and version."""
