"""Strategy of ClusterRole: validation of rules and of the aggregation rule.

Follows ``pkg/registry/rbac/clusterrole/strategy.go`` and ``pkg/apis/rbac/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from simkit.kinds.parts.rbac.policy_rules import normalize_rules, validate_rules
from simkit.kinds.parts.rbac.strategy import ACCESS_KIND
from simkit.kinds.parts.validation.label_selector import validate_label_selector
from simkit.kinds.parts.workload.template_owner import selector_of
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.objects import Object


def _validate(role: Object, old: Object | None) -> Sequence[FieldError]:
    return [*validate_rules(role, namespaced=False), *_validate_aggregation(role)]


def _validate_aggregation(role: Object) -> Iterator[FieldError]:
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return
    path = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors") or ()
    if not selectors:
        yield required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(selectors):
        yield from validate_label_selector(selector, f"{path}[{index}]")
        if selector_of(selector) is None:
            yield invalid_value(f"{path}[{index}]", None, "invalid label selector.")


STRATEGY = replace(ACCESS_KIND, prepare=normalize_rules, validate=_validate)
