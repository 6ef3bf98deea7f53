"""Strategy of ClusterRoleBinding.

Follows ``pkg/registry/rbac/clusterrolebinding/strategy.go``, release 1.30.
"""

from __future__ import annotations

from simkit.kinds.parts.rbac.binding import binding_strategy

STRATEGY = binding_strategy("ClusterRole", namespaced=False)
