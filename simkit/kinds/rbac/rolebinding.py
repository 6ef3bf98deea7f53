"""Strategy of RoleBinding.

Follows ``pkg/registry/rbac/rolebinding/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simkit.kinds.parts.rbac.binding import binding_row, default_binding, validate_binding, validate_same_role
from simkit.kinds.parts.rbac.strategy import ACCESS_KIND
from simkit.meta.fielderror import FieldError
from simkit.meta.objects import Object


def _validate(binding: Object, old: Object | None) -> Sequence[FieldError]:
    return validate_binding(binding, ("Role", "ClusterRole"), namespaced=True)


STRATEGY = replace(
    ACCESS_KIND, default=default_binding, validate=_validate, validate_last=validate_same_role, print_row=binding_row
)
