"""Strategy of ReplicaSet: defaulting, preparation, validation, printer columns.

Follows ``pkg/registry/apps/replicaset/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.pod.defaults.spec import default_template
from simkit.kinds.parts.printers.cells import selector_text
from simkit.kinds.parts.workload.template_owner import (
    FIRST,
    changing_selectors,
    default_missing,
    keeping_dependents,
    prepared_workload,
    replica_row,
    validate_immutable_selector,
    validate_nonnegative_fields,
    validate_replica_status,
    validate_selecting,
    workload_warnings,
)
from simkit.kinds.strategy import Strategy, Subresource, checked_twice, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError
from simkit.meta.objects import Draft, Object, at


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    default_missing(spec, {"replicas": 1})
    spec.setdefault("template", {})
    default_template(behaviour, spec)


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[FieldError]:
    spec = obj["spec"]
    yield from validate_nonnegative_fields("spec", spec, ("replicas", "minReadySeconds"))
    yield from validate_selecting(behaviour, spec)


_STABLE: Final = Strategy(
    metadata_checks=checked_twice("replica-sets-checked-once"),
    default=_default,
    empty={"spec": {"replicas": 0}},
    prepare=prepared_workload({"replicas": 0}),
    validate=_validate,
    validate_last=lambda _, obj, old: validate_immutable_selector(obj, old),
    raises_generation=spec_differs,
    print_row=replica_row(lambda obj: selector_text(at(obj, "spec", "selector"))),
    subresources={"status": Subresource(keep_all_but_status, validate_replica_status)},
    warnings=workload_warnings,
)
STRATEGY = replace(
    _STABLE, older_versions={**changing_selectors(_STABLE, FIRST), **keeping_dependents(_STABLE, "apps/v1beta2")}
)
