"""Strategies of HorizontalPodAutoscaler and Scale.

Follows ``pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go`` and
``pkg/apis/autoscaling/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.kinds.conversions.horizontalpodautoscaler import BEHAVIOR, CONDITIONS, CURRENT, METRICS
from simkit.kinds.parts.cells import NONE, UNKNOWN, UNSET, columns, created, number
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.validation.object_meta import SCALED_REFERENCE, validate_version
from simkit.kinds.parts.validation.resource_quantities import (
    shown,
    validate_metric_resource_name,
    validate_nonnegative_quantity,
)
from simkit.kinds.rules import Check, by, fields, must, placed, row, table, validation
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.name_validation import dns_label, path_segment
from simkit.meta.objects import Draft, Object, at, name_of
from simkit.meta.quantity import parse

TYPES: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
FIELDS: Final[Mapping[str, str]] = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""The field of each type's source, in the order of the checks."""
_POSITIVE: Final = must.hold(lambda amount: parse(amount).nano > 0, "must be positive", shown)
_TARGET: Final = table(
    row("type", must.be_given("must specify a metric target type")),
    row(
        "type",
        must.hold(
            lambda kind: kind in ("Utilization", "Value", "AverageValue"),
            "must be either Utilization, Value, or AverageValue",
        ),
        zero="",
    ),
    row("value", _POSITIVE),
    row("averageValue", _POSITIVE),
    row("averageUtilization", must.be_positive),
)
_NAME: Final = row("name", must.be_given("must specify a resource name"))
_NAMED: Final = table(
    row("metric.name", must.be_given("must specify a metric name"), must.be(path_segment)),
    row("target", _TARGET, zero={}),
)
_SHARED_TARGET: Final = row(
    "target",
    table(
        _TARGET,
        row(
            "averageUtilization",
            must.be_given("must set either a target raw value or a target utilization", pointer=True),
            when=fields.absent("averageValue"),
        ),
        row(
            "averageValue",
            must.be_absent("may not set both a target raw value and a target utilization"),
            when=fields.present("averageUtilization"),
        ),
    ),
    zero={},
)
_SOURCES: Final[Mapping[str, Check]] = {
    "object": table(
        row("describedObject", SCALED_REFERENCE, zero={}),
        _NAMED,
        row(
            "target.averageValue",
            must.be_given("must set either a target value or averageValue"),
            unless=fields.given("target.value"),
        ),
    ),
    "external": table(
        _NAMED,
        row(
            "target.averageValue",
            must.be_given("must set either a target value for metric or a per-pod target"),
            unless=fields.given("target.value"),
        ),
        row(
            "target.value",
            must.be_absent("may not set both a target value for metric and a per-pod target"),
            when=fields.given("target.averageValue"),
        ),
    ),
    "pods": table(_NAMED, row("target.averageValue", must.be_given("must specify a positive target averageValue"))),
    "resource": table(_NAME, _SHARED_TARGET),
    "containerResource": table(
        row("name", must.be_given("must specify a resource name"), by(validate_metric_resource_name)),
        row("container", must.be_given("must specify a container"), must.be(dns_label)),
        _SHARED_TARGET,
    ),
}


def validate_metrics(behaviour: ServedBehaviour, path: str, metrics: Sequence[Object], least: int | None) -> Errors:
    """The errors of a list of metrics; ``least`` is the least number of replicas."""
    for index, metric in enumerate(metrics):
        yield from _validate_metric(behaviour, f"{path}[{index}]", metric)
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden_field(path, text)


def _validate_metric(behaviour: ServedBehaviour, path: str, metric: Object) -> Errors:
    kind = metric.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in TYPES:
        yield unsupported(f"{path}.type", kind, TYPES)
    present = [field for field in FIELDS.values() if metric.get(field) is not None]
    for field in present[:1]:
        yield from placed(f"{path}.{field}", _SOURCES[field](behaviour, metric[field]))
    expected = FIELDS.get(kind)
    if expected is None:
        yield unsupported(f"{path}.type", kind, TYPES)
    elif expected not in present:
        text = "must populate information for the given metric source"
        if kind == "ContainerResource" and not behaviour.applies("metrics-of-containers"):
            text += " (only allowed when HPAContainerMetrics feature is enabled)"
        yield required(f"{path}.{expected}", text)
    if len(present) != 1:
        for field in sorted(set(present) - {expected}):
            yield forbidden_field(f"{path}.{field}", "must populate the given metric source only")


_ALL_IN_15: Final = {"type": "Percent", "value": 100, "periodSeconds": 15}
_UP: Final[Mapping[str, Any]] = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, _ALL_IN_15],
}
_DOWN: Final[Mapping[str, Any]] = {"selectPolicy": "Max", "policies": [_ALL_IN_15]}
_SHARE: Final = 80
_NIL: Final = "<nil>"
"""The text for a number that is not known."""


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _SHARE}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if spec.get("behavior") is not None:
        behavior = own_copy(spec, "behavior")
        behavior["scaleUp"] = {**_UP, **(behavior.get("scaleUp") or {})}
        behavior["scaleDown"] = {**_DOWN, **(behavior.get("scaleDown") or {})}


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {"currentMetrics": None, "desiredReplicas": 0}
    elif "status" in draft and not at(draft, "status", "currentMetrics"):
        own_copy(draft, "status")["currentMetrics"] = None


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    spec, kept = obj["spec"], old is not None and at(old, "spec", "minReplicas") == 0
    least = 0 if kept or behaviour.applies("autoscaling-to-zero") else 1
    low, high = spec["minReplicas"], spec.get("maxReplicas") or 0
    if low < least:
        yield invalid_value("spec.minReplicas", low, f"must be greater than or equal to {least}")
    if high < 1:
        yield _no_replicas(behaviour, high)
    if high < low:
        yield invalid_value("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    yield from placed("spec.scaleTargetRef", SCALED_REFERENCE(behaviour, spec.get("scaleTargetRef") or {}))
    if behaviour.applies("scaled-versions-checked"):
        yield from _validate_target_version(spec, old)
    yield from validate_metrics(behaviour, "spec.metrics", spec["metrics"], low)
    for side in ("scaleUp", "scaleDown"):
        rules = at(spec, "behavior", side)
        if rules is not None:
            yield from placed(f"spec.behavior.{side}", _RULE(behaviour, rules))


def _validate_target_version(spec: Object, old: Object | None) -> Errors:
    """An error of the version of what is scaled, unless it is the stored one."""
    target, before = spec.get("scaleTargetRef") or {}, at(old, "spec", "scaleTargetRef") or {}
    if old is not None and all(target.get(name) == before.get(name) for name in ("apiVersion", "kind")):
        return
    core = target.get("kind") == "ReplicationController"
    yield from validate_version("spec.scaleTargetRef.apiVersion", target.get("apiVersion") or "", core=core)


def _no_replicas(behaviour: ServedBehaviour, high: int) -> FieldError:
    path = "spec.maxReplicas"
    if not behaviour.applies("most-replicas-required"):
        return invalid_value(path, high, "must be greater than 0")
    if not high:
        return required(path, "must be set and greater than 0")
    return invalid_value(path, high, "must be greater than or equal to 1")


_RULE: Final = table(
    row(
        "stabilizationWindowSeconds",
        must.hold(lambda seconds: seconds >= 0, "must be greater than or equal to zero"),
        must.be_at_most(3600),
    ),
    row("selectPolicy", must.be_one_of("Disabled", "Max", "Min"), empty=True),
    row("policies", must.be_given("must specify at least one Policy")),
    row(
        "policies[]",
        row("type", must.be_one_of("Percent", "Pods"), zero=""),
        row("value", must.be_above_zero, zero=0),
        row(
            "periodSeconds",
            must.be_above_zero,
            must.be_at_most(1800),
            zero=0,
        ),
    ),
    row("tolerance", by(validate_nonnegative_quantity)),
)


def _target(obj: Object) -> str:
    target = at(obj, "spec", "scaleTargetRef") or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _least(obj: Object) -> str:
    least = at(obj, "spec", "minReplicas")
    return UNSET if least is None else str(least)


def _metrics(behaviour: ServedBehaviour, obj: Object) -> str:
    """The targets and current values of the first two metrics, and the number of others."""
    metrics, current = at(obj, "spec", "metrics") or (), at(obj, "status", "currentMetrics") or ()
    if not metrics:
        return NONE
    texts = [
        _metric(behaviour, metric, current[index] if index < len(current) else {})
        for index, metric in enumerate(metrics)
    ]
    more = len(texts) - 2
    return ", ".join(texts[:2]) + (f" + {more} more..." if more > 0 else "")


def _metric(behaviour: ServedBehaviour, metric: Object, status: Object) -> str:
    kind = metric.get("type") or ""
    field = kind[:1].lower() + kind[1:]
    target, now = at(metric, field, "target") or {}, at(status, field, "current") or {}
    absent = UNKNOWN if at(status, field) is None else _NIL
    if kind in ("Resource", "ContainerResource"):
        named = f"{at(metric, field, 'name') or ''}: " if behaviour.applies("resources-of-autoscalers-named") else ""
        return f"{named}{_resource(target, now, absent)}"
    if kind == "Pods":
        return f"{now.get('averageValue') or absent}/{target.get('averageValue') or _NIL}"
    if kind not in ("Object", "External"):
        return "<unknown type>"
    if target.get("averageValue") is not None:
        return f"{now.get('averageValue') or UNKNOWN}/{target['averageValue']} (avg)"
    return f"{now.get('value') or absent}/{target.get('value') or _NIL}"


def _resource(target: Object, now: Object, absent: str) -> str:
    if target.get("averageValue") is not None:
        return f"{now.get('averageValue') or absent}/{target['averageValue']}"
    wanted, found = target.get("averageUtilization"), now.get("averageUtilization")
    return f"{UNKNOWN if found is None else f'{found}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


_STATUS: Final = validation(
    row("status.currentReplicas", must.be_nonnegative),
    row("status.desiredReplicas", must.be_nonnegative),
)


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    most, present = at(obj, "spec", "maxReplicas") or 0, at(obj, "status", "currentReplicas") or 0
    return [name_of(obj), _target(obj), _metrics(behaviour, obj), _least(obj), most, present, created(obj, now)]


STRATEGIES: Final = {
    "HorizontalPodAutoscaler": Strategy(
        metadata_checks=MetadataChecks((CHANGES,)),
        default=_default,
        prepare=_prepare,
        validate=_validate,
        print_row=_row,
        version_annotations=frozenset({METRICS, CURRENT, CONDITIONS, BEHAVIOR}),
        subresources={"status": Subresource(keep_all_but_status, _STATUS, owns_all=True)},
    ),
    "Scale": Strategy(print_row=columns(number("spec.replicas"), number("status.replicas"))),
}
