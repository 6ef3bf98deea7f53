"""Strategy of Deployment: defaulting, preparation, validation, printer columns.

Follows ``pkg/registry/apps/deployment/strategy.go`` and ``pkg/apis/apps/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.parts.cells import created, selector_text
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.go_printing.structures import number_or_text, structure
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.pod.template import names_and_images
from simkit.kinds.parts.template_owner import (
    FIRST,
    SERVING,
    changing_selectors,
    counts_checked,
    default_missing,
    keeping_dependents,
    prepared_workload,
    validate_immutable_selector,
    validate_nonnegative_fields,
    validate_selecting,
    workload_warnings,
)
from simkit.kinds.parts.validation.fields import (
    int_or_percent_value,
    validate_at_most_100_percent,
    validate_int_or_percent,
)
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, forbidden_field, invalid_value, required, unsupported
from simkit.meta.objects import Draft, Object, annotations_of, name_of

_COUNTS: Final = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)
_PARTS: Final = (("updatedReplicas", "replicas"), *SERVING)
_STRATEGIES: Final = ("Recreate", "RollingUpdate")


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    default_missing(spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    strategy = own_copy(spec, "strategy")
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        default_missing(own_copy(strategy, "rollingUpdate"), {"maxUnavailable": "25%", "maxSurge": "25%"})
    spec.setdefault("template", {})
    default_template(behaviour, spec)


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    spec = obj["spec"]
    yield from validate_nonnegative_fields("spec", spec, ("replicas",))
    yield from validate_selecting(behaviour, spec)
    yield from _validate_strategy(behaviour, "spec.strategy", spec.get("strategy") or {})
    yield from validate_nonnegative_fields(
        "spec", spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    )
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        yield invalid_value("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
    yield from validate_immutable_selector(obj, old) if old is not None else ()


def _validate_strategy(behaviour: ServedBehaviour, path: str, strategy: Object) -> Errors:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            text = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden_field(f"{path}.rollingUpdate", text)
    elif kind == "RollingUpdate":
        if rolling is None:
            yield required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")
        else:
            yield from _validate_rolling(behaviour, f"{path}.rollingUpdate", rolling)
    else:
        shown = structure("apps.DeploymentStrategy", strategy)
        yield unsupported(path, shown, _STRATEGIES)


def _validate_rolling(behaviour: ServedBehaviour, path: str, rolling: Object) -> Errors:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from validate_int_or_percent(behaviour, f"{path}.maxUnavailable", unavailable)
    yield from validate_int_or_percent(behaviour, f"{path}.maxSurge", surge)
    if not int_or_percent_value(unavailable) and not int_or_percent_value(surge):
        yield invalid_value(f"{path}.maxUnavailable", number_or_text(unavailable), "may not be 0 when `maxSurge` is 0")
    yield from validate_at_most_100_percent(behaviour, f"{path}.maxUnavailable", unavailable)


def _merge_status(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    keep_all_but_status(behaviour, draft, live)
    draft["metadata"]["labels"] = live["metadata"].get("labels") or {}


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ready = f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}"
    counts = [status.get("updatedReplicas") or 0, status.get("availableReplicas") or 0]
    selector = spec.get("selector")
    shown = "" if selector is not None and not any(selector.values()) else selector_text(selector)
    return [name_of(obj), ready, *counts, created(obj, now), *names_and_images(spec.get("template")), shown]


_STABLE: Final = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
    empty={"spec": {"replicas": 0}},
    prepare=prepared_workload({}),
    validate=_validate,
    raises_generation=lambda obj, old: spec_differs(obj, old) or annotations_of(obj) != annotations_of(old),
    print_row=_row,
    subresources={"status": Subresource(_merge_status, counts_checked(_COUNTS, _PARTS))},
    warnings=workload_warnings,
    status_reset_fields=(("metadata", "labels"),),
)
STRATEGY = replace(
    _STABLE,
    older_versions={
        **changing_selectors(_STABLE, FIRST, "apps/v1beta1"),
        **keeping_dependents(_STABLE, "apps/v1beta2"),
    },
)
