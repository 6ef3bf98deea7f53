"""Role: rules that hold in one namespace."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.kinds.parts.role_rules import normalize_rules, validate_rules
from simkit.kinds.rules import KindRules, MetadataChecks
from simkit.meta.fielderror import FieldError
from simkit.meta.format import whole_path_segment
from simkit.meta.objects import Draft, Object


def _validate(role: Object, old: Object | None) -> Sequence[FieldError]:
    faults = validate_rules(role, namespaced=True)
    return faults if old is None else [*faults, *faults]  # the real server checks an update twice


def _prepare(draft: Draft, old: Object | None) -> None:
    normalize_rules(draft)


RULES = KindRules(
    metadata_checks=MetadataChecks(whole=2),
    name=whole_path_segment,
    prepare=_prepare,
    validate=_validate,
    put_creates=True,
)
