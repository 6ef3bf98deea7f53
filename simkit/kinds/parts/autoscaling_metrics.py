"""Validation of the metrics of a HorizontalPodAutoscaler.

Follows ``pkg/apis/autoscaling/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from simkit.kinds.parts.validation.fields import segment, validate_text
from simkit.kinds.parts.validation.object_references import validate_scaled_reference
from simkit.kinds.parts.validation.resource_quantities import shown, validate_metric_resource_name
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.name_validation import dns_label
from simkit.meta.objects import Object
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
_TARGETS: Final = ("Utilization", "Value", "AverageValue")


def validate_metrics(path: str, metrics: Sequence[Object], least: int | None) -> Iterator[FieldError]:
    """The errors of a list of metrics; ``least`` is the least number of replicas."""
    for index, metric in enumerate(metrics):
        yield from _validate_metric(f"{path}[{index}]", metric)
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden_field(path, text)


def _validate_metric(path: str, metric: Object) -> Iterator[FieldError]:
    kind = metric.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in TYPES:
        yield unsupported(f"{path}.type", kind, TYPES)
    present = [field for field in FIELDS.values() if metric.get(field) is not None]
    for field in present[:1]:
        yield from _SOURCES[field](f"{path}.{field}", metric[field])
    expected = FIELDS.get(kind)
    if expected is None:
        yield unsupported(f"{path}.type", kind, TYPES)
    elif expected not in present:
        text = "must populate information for the given metric source"
        if kind == "ContainerResource" and not applies("metrics-of-containers"):
            text += " (only allowed when HPAContainerMetrics feature is enabled)"
        yield required(f"{path}.{expected}", text)
    if len(present) != 1:
        for field in sorted(set(present) - {expected}):
            yield forbidden_field(f"{path}.{field}", "must populate the given metric source only")


def _validate_target(path: str, target: Object) -> Iterator[FieldError]:
    kind = target.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        yield invalid_value(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if target.get(name) is not None and parse(target[name]).nano <= 0:
            yield invalid_value(f"{path}.{name}", shown(target[name]), "must be positive")
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        yield invalid_value(f"{path}.averageUtilization", utilization, "must be greater than 0")


def _validate_named(path: str, source: Object) -> Iterator[FieldError]:
    """The errors of the name of a metric and its target."""
    name = (source.get("metric") or {}).get("name") or ""
    if not name:
        yield required(f"{path}.metric.name", "must specify a metric name")
    else:
        yield from validate_text(f"{path}.metric.name", name, segment)
    yield from _validate_target(f"{path}.target", source.get("target") or {})


def _object(path: str, source: Object) -> Iterator[FieldError]:
    yield from validate_scaled_reference(f"{path}.describedObject", source.get("describedObject") or {})
    yield from _validate_named(path, source)
    target = source.get("target") or {}
    if target.get("value") is None and target.get("averageValue") is None:
        yield required(f"{path}.target.averageValue", "must set either a target value or averageValue")


def _external(path: str, source: Object) -> Iterator[FieldError]:
    yield from _validate_named(path, source)
    target = source.get("target") or {}
    given = [name for name in ("value", "averageValue") if target.get(name) is not None]
    if not given:
        text = "must set either a target value for metric or a per-pod target"
        yield required(f"{path}.target.averageValue", text)
    if len(given) == 2:
        yield forbidden_field(f"{path}.target.value", "may not set both a target value for metric and a per-pod target")


def _pods(path: str, source: Object) -> Iterator[FieldError]:
    yield from _validate_named(path, source)
    if (source.get("target") or {}).get("averageValue") is None:
        yield required(f"{path}.target.averageValue", "must specify a positive target averageValue")


def _resource(path: str, source: Object) -> Iterator[FieldError]:
    if not source.get("name"):
        yield required(f"{path}.name", "must specify a resource name")
    yield from _resource_target(path, source)


def _container_resource(path: str, source: Object) -> Iterator[FieldError]:
    if not source.get("name"):
        yield required(f"{path}.name", "must specify a resource name")
    else:
        yield from validate_metric_resource_name(f"{path}.name", source["name"])
    if not source.get("container"):
        yield required(f"{path}.container", "must specify a container")
    else:
        yield from validate_text(f"{path}.container", source["container"], dns_label)
    yield from _resource_target(path, source)


def _resource_target(path: str, source: Object) -> Iterator[FieldError]:
    target = source.get("target") or {}
    yield from _validate_target(f"{path}.target", target)
    raw, share = target.get("averageValue"), target.get("averageUtilization")
    if raw is None and share is None:
        yield required(
            f"{path}.target.averageUtilization", "must set either a target raw value or a target utilization"
        )
    if raw is not None and share is not None:
        text = "may not set both a target raw value and a target utilization"
        yield forbidden_field(f"{path}.target.averageValue", text)


_SOURCES: Final[Mapping[str, Callable[[str, Object], Iterator[FieldError]]]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
