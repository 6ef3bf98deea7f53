"""Role-based access control: matching of rules, grants of subjects, and coverage of rules by rules.

plugin/pkg/auth/authorizer/rbac and pkg/registry/rbac, release 1.30.
"""
