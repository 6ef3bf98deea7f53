"""Strategy of Role: validation of rules.

Follows ``pkg/registry/rbac/role/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simkit.kinds.parts.rbac.policy_rules import normalize_rules, validate_rules
from simkit.kinds.parts.rbac.strategy import ACCESS_KIND
from simkit.meta.fielderror import FieldError
from simkit.meta.objects import Object


def _validate(role: Object, old: Object | None) -> Sequence[FieldError]:
    return validate_rules(role, namespaced=True)


STRATEGY = replace(ACCESS_KIND, prepare=normalize_rules, validate=_validate)
