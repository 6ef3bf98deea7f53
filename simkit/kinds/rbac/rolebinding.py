"""Strategy of RoleBinding.

Follows ``pkg/registry/rbac/rolebinding/strategy.go``, release 1.30.
"""

from __future__ import annotations

from simkit.kinds.parts.rbac.binding import binding_strategy

STRATEGY = binding_strategy("Role", "ClusterRole", namespaced=True)
