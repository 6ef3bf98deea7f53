"""Access that the provider of a managed cluster grants besides RBAC objects."""
