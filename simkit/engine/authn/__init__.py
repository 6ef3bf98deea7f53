"""Authenticators: from credentials to an identity."""
