"""RBAC objects of a snapshot: subjects, roles, bindings, the index of grants, tables and the access graph."""
