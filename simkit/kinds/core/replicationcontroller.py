"""Strategy of ReplicationController: defaulting, validation, warnings, printer columns.

Follows ``pkg/registry/core/replicationcontroller/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from simkit.kinds.parts.cells import pairs
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.template_owner import (
    default_missing,
    prepared_workload,
    replica_row,
    template_warnings,
    validate_nonnegative_fields,
    validate_replica_status,
    validate_replicated,
    workload_warnings,
)
from simkit.kinds.strategy import DeleteStrategy, Strategy, Subresource, checked_twice, spec_differs
from simkit.meta import labels
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, required
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object, at, labels_of

_ONCE: Final = "replication-controllers-checked-once"


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    default_missing(spec, {"replicas": 1})
    default_template(behaviour, spec)
    of_pods = labels_of(spec.get("template") or {})
    if of_pods:
        if not spec.get("selector"):
            spec["selector"] = dict(of_pods)
        if not labels_of(draft):
            draft["metadata"]["labels"] = dict(of_pods)


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    spec = obj["spec"]
    selector = spec.get("selector") or {}
    yield from validate_nonnegative_fields("spec", spec, ("minReadySeconds",))
    if not selector:
        yield required("spec.selector")
    yield from validate_nonnegative_fields("spec", spec, ("replicas",))
    if spec.get("template") is None:
        yield required("spec.template")
    else:
        chosen = labels.of_object({"matchLabels": selector})
        yield from validate_replicated(behaviour, "spec.template", spec, "ReplicationController", chosen)


def _name_errors(name: str, prefix: bool = False) -> Sequence[str]:
    """The errors of a name where a controller is checked once: those of a prefix are left to the names made of it."""
    return () if prefix else dns_subdomain(name)


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterable[str]:
    """The warnings of a controller; on an update those of the old template, as in kube-apiserver."""
    if old is None:
        return workload_warnings(behaviour, obj, None)
    return template_warnings(behaviour, {**old, "metadata": obj["metadata"]}, old)


STRATEGY = Strategy(
    metadata_checks=checked_twice(_ONCE),
    validate_name_since=(_ONCE, _name_errors),
    default=_default,
    prepare=prepared_workload({"replicas": 0}),
    validate=_validate,
    raises_generation=spec_differs,
    selectable_fields=lambda obj: {"status.replicas": str(at(obj, "status", "replicas") or 0)},
    print_row=replica_row(lambda obj: pairs(at(obj, "spec", "selector"))),
    subresources={"status": Subresource(keep_all_but_status, validate_replica_status)},
    warnings=_warnings,
    delete_strategy=DeleteStrategy(orphans_by_default=True),
)
