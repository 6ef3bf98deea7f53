"""The languages of objects: CEL expressions, patches, applied configurations, and YAML."""
