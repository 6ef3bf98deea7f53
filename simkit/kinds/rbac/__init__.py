"""Strategies of the group rbac.authorization."""
