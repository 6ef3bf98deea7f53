"""The registry: it defaults, validates, versions and writes objects."""
