"""The registry: defaults, validates, versions and writes objects."""
