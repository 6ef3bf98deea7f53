"""ClusterRoleBinding: grants a cluster role everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.kinds.parts.role_binding import binding_row, default_binding, validate_binding
from simkit.kinds.rules import KindRules, MetadataChecks
from simkit.meta.fielderror import FieldError
from simkit.meta.format import whole_path_segment
from simkit.meta.objects import Object


def _validate(binding: Object, old: Object | None) -> Sequence[FieldError]:
    return validate_binding(binding, old, ("ClusterRole",), namespaced=False)


RULES = KindRules(
    metadata_checks=MetadataChecks(whole=2),
    name=whole_path_segment,
    default=default_binding,
    validate=_validate,
    row=binding_row,
    put_creates=True,
)
