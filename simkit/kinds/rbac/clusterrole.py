"""Strategy of ClusterRole: validation of rules and of the aggregation rule.

Follows ``pkg/registry/rbac/clusterrole/strategy.go`` and ``pkg/apis/rbac/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from simkit.kinds.parts.rbac.binding import ACCESS_KIND, normalize_rules, rules_of_role
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR
from simkit.kinds.parts.workload.template_owner import selector_of
from simkit.kinds.rules import by, must, row, table, validation
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.objects import Object


def _validate_parsed(behaviour: ServedBehaviour, path: str, selector: Object) -> Iterator[FieldError]:
    if selector_of(selector) is None:
        yield invalid_value(path, None, "invalid label selector.")


STRATEGY = replace(
    ACCESS_KIND,
    prepare=normalize_rules,
    validate=validation(
        rules_of_role(namespaced=False),
        row(
            "aggregationRule",
            row(
                "clusterRoleSelectors",
                must.be_given("at least one clusterRoleSelector required if aggregationRule is non-nil"),
            ),
            row("clusterRoleSelectors[]", table(LABEL_SELECTOR, by(_validate_parsed))),
        ),
    ),
)
