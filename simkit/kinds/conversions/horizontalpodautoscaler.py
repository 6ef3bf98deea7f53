"""Conversions of HorizontalPodAutoscaler: v1 has one metric, v2beta1 flat metrics, v2beta2 and v2 metrics with targets.

What an older version cannot say travels in annotations: all further metrics, behaviour, and the status of both.

Flat metrics have a value where structured ones may have none; kube-apiserver then writes the value 0.

Follows ``pkg/apis/autoscaling/v1/conversion.go`` and ``pkg/apis/autoscaling/v2beta1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from simkit.kinds.conversions.family import Family, Spoke, annotate, entries, peek, pick, section, take_annotation
from simkit.meta import go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.objects import Draft, at, copied

# Metrics, flat (v2beta1, and the annotations of v1) and structured (v2beta2, v2)

Part = dict[str, Any]
Row = tuple[str, str, Any]
"""A flat field, its place in the structured form, and the value that both have where it is missing; None for none."""


class _Metric(NamedTuple):
    """One type of metrics: its fields in the order of the flat form, in which annotations list them.

    ``kinds`` are a field of the structured target, the type of a target that has it, and the type of any other.
    """

    rows: Sequence[Row]
    kinds: tuple[str, str, str] | None = None

    def to_structured(self, flat: Part) -> Part:
        found: Part = {}
        for name, place, zero in self.rows:
            value = copied(zero) if flat.get(name) in (None, "") else flat[name]
            if value is not None:
                *steps, last = place.split(".")
                section(found, *steps)[last] = value
        if self.kinds is not None:
            field, kind, other = self.kinds
            target = section(found, "target")
            target["type"] = kind if field in target else other
        return found

    def to_flat(self, structured: Part) -> Part:
        values = ((name, at(structured, *place.split(".")), zero) for name, place, zero in self.rows)
        found = {name: zero if value in (None, "") else value for name, value, zero in values}
        if "target" in found:
            found["target"] = pick(found["target"], "kind", "name", "apiVersion")
        return {name: value for name, value in found.items() if value is not None}


def _resource(side: str, zero: str | None, kinds: tuple[str, str, str] | None) -> _Metric:
    rows: Sequence[Row] = (
        ("name", "name", ""),
        (f"{side}AverageUtilization", f"{side}.averageUtilization", None),
        (f"{side}AverageValue", f"{side}.averageValue", zero),
        ("container", "container", None),
    )
    return _Metric(rows, kinds)


def _pods(side: str, kinds: tuple[str, str, str] | None) -> _Metric:
    value: Row = (f"{side}AverageValue", f"{side}.averageValue", "0")
    return _Metric((_NAME, value, _SELECTOR), kinds)


def _object(side: str, kinds: tuple[str, str, str] | None) -> _Metric:
    value, average = (f"{side}Value", f"{side}.value", "0"), ("averageValue", f"{side}.averageValue", None)
    return _Metric((("target", "describedObject", {}), _NAME, value, _SELECTOR, average), kinds)


_NAME: Final = ("metricName", "metric.name", "")
_SELECTOR: Final = ("selector", "metric.selector", None)
_OF_EXTERNAL: Final = ("metricSelector", "metric.selector", None)


def _metrics(resource: _Metric, pods: _Metric, obj: _Metric, external: _Metric) -> Mapping[str, _Metric]:
    return {"object": obj, "pods": pods, "resource": resource, "containerResource": resource, "external": external}


_WANTED: Final = _metrics(
    _resource("target", None, ("averageUtilization", "Utilization", "AverageValue")),
    _pods("target", ("averageValue", "AverageValue", "AverageValue")),
    _object("target", ("averageValue", "AverageValue", "Value")),
    _Metric(
        (
            _NAME,
            _OF_EXTERNAL,
            ("targetValue", "target.value", None),
            ("targetAverageValue", "target.averageValue", None),
        ),
        ("value", "Value", "AverageValue"),
    ),
)
_MEASURED: Final = _metrics(
    _resource("current", "0", None),
    _pods("current", None),
    _object("current", None),
    _Metric(
        (
            _NAME,
            ("currentValue", "current.value", "0"),
            _OF_EXTERNAL,
            ("currentAverageValue", "current.averageValue", None),
        )
    ),
)


def _change(metrics: Iterable[Part], types: Mapping[str, _Metric], change: Callable[[_Metric, Part], Part]) -> None:
    """Change metrics in place. Keys come out in kube-apiserver's order, since annotations are compared as texts."""
    for metric in metrics:
        made = {name: change(types[name], metric[name]) for name in types if isinstance(metric.get(name), dict)}
        ordered = {name: made.get(name, metric[name]) for name in ("type", *types) if name in metric}
        metric.clear()
        metric.update(ordered)


# Behaviour, in the annotation with capitalized names; missing parts are null

_DIRECTIONS: Final = ("scaleUp", "scaleDown")
_RULES: Final = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY: Final = {"type": "", "value": 0, "periodSeconds": 0}


def _capital(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}"


def _rules_to_annotation(behaviour: ServedBehaviour, rules: Mapping[str, Any] | None) -> Part | None:
    if rules is None:
        return None
    names = _RULES if behaviour.applies("autoscaling-tolerance") else _RULES[:-1]
    found = {_capital(name): rules.get(name) for name in names}
    if found["Policies"] is not None:
        policies = entries(rules, "policies")
        found["Policies"] = [
            {_capital(name): each.get(name, zero) for name, zero in _POLICY.items()} for each in policies
        ]
    return found


def _named(part: Mapping[str, Any], names: Iterable[str]) -> Part:
    """The values of some names, which are read in any case, as by Go."""
    lowered = {name.lower(): value for name, value in part.items()}
    return {name: lowered[name.lower()] for name in names if lowered.get(name.lower()) is not None}


def _rules_from_annotation(rules: Mapping[str, Any]) -> Part:
    found = _named(rules, _RULES)
    if "policies" in found:
        found["policies"] = [{**_POLICY, **_named(each, _POLICY)} for each in found["policies"]]
    return found


METRICS: Final = label("metrics", "autoscaling.alpha")
CURRENT: Final = label("current-metrics", "autoscaling.alpha")
CONDITIONS: Final = label("conditions", "autoscaling.alpha")
BEHAVIOR: Final = label("behavior", "autoscaling.alpha")
_CPU_ONLY: Final = 80
_CONDITION: Final = ("type", "status", "lastTransitionTime", "reason", "message")


def _drop_annotations(draft: Draft) -> None:
    for key in (METRICS, CURRENT, CONDITIONS, BEHAVIOR):
        take_annotation(draft, key)


def _read(text: str | None, kind: type) -> Any:
    """The value in an annotation; None if there is none, or if it is invalid, which drops it."""
    try:
        value = orjson.loads(text) if text is not None else None
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, kind) else None


def _write(value: Any) -> str:
    return go_json.encode(value).decode()


def _behavior_to_hub(draft: Draft) -> None:
    behavior = _named(_read(take_annotation(draft, BEHAVIOR), dict) or {}, _DIRECTIONS)
    if behavior:
        section(draft, "spec")["behavior"] = {name: _rules_from_annotation(each) for name, each in behavior.items()}


def _behavior_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    behavior = peek(draft, "spec").pop("behavior", None)
    if behavior is not None:
        told = {_capital(name): _rules_to_annotation(behaviour, behavior.get(name)) for name in _DIRECTIONS}
        annotate(draft, BEHAVIOR, _write(told))


# v2beta1


def _flat_to_hub(draft: Draft) -> None:
    _behavior_to_hub(draft)
    _drop_annotations(draft)
    _change(entries(peek(draft, "spec"), "metrics"), _WANTED, _Metric.to_structured)
    _change(entries(peek(draft, "status"), "currentMetrics"), _MEASURED, _Metric.to_structured)


def _flat_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    _behavior_from_hub(behaviour, draft)
    _change(entries(peek(draft, "spec"), "metrics"), _WANTED, _Metric.to_flat)
    _change(entries(peek(draft, "status"), "currentMetrics"), _MEASURED, _Metric.to_flat)


# v1


def _default_v1(draft: Draft) -> None:
    section(draft, "spec").setdefault("minReplicas", 1)


def _single_to_hub(draft: Draft) -> None:
    spec, status = section(draft, "spec"), peek(draft, "status")
    _behavior_to_hub(draft)
    metrics = _read(take_annotation(draft, METRICS), list) or []
    current = _read(take_annotation(draft, CURRENT), list)
    conditions = _read(take_annotation(draft, CONDITIONS), list)
    _change(metrics, _WANTED, _Metric.to_structured)
    _change(current or (), _MEASURED, _Metric.to_structured)
    target = spec.pop("targetCPUUtilizationPercentage", None)
    if target is None and not metrics:  # a conversion sets this default, also one between two managers' versions
        target = _CPU_ONLY
    if target is not None:
        resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": target}}
        metrics.append({"type": "Resource", "resource": resource})
    now = status.pop("currentCPUUtilizationPercentage", None)
    if now is not None and current is None:  # the annotation has it too
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": now}}}]
    if metrics:
        spec["metrics"] = metrics
    if current:
        section(draft, "status")["currentMetrics"] = current
    if conditions is not None:
        section(draft, "status")["conditions"] = conditions


def _single_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec, status = section(draft, "spec"), peek(draft, "status")
    metrics = spec.pop("metrics", None) or []
    targets = [_utilization(metric, "target") if _is_cpu(metric) else None for metric in metrics]
    target = next((each for each in targets if each is not None), None)
    if target is not None:
        spec["targetCPUUtilizationPercentage"] = target
    others = [metric for metric, utilization in zip(metrics, targets, strict=True) if utilization is None]
    _change(others, _WANTED, _Metric.to_flat)
    if others:
        annotate(draft, METRICS, _write(others))
    _status_from_hub(draft, status)
    _behavior_from_hub(behaviour, draft)


def _status_from_hub(draft: Draft, status: Draft) -> None:
    current, conditions = status.pop("currentMetrics", None) or [], status.pop("conditions", None) or []
    shares = [_utilization(metric, "current") for metric in current if _is_cpu(metric)]
    now = next((share for share in reversed(shares) if share is not None), None)
    if now is not None:
        status["currentCPUUtilizationPercentage"] = now
    _change(current, _MEASURED, _Metric.to_flat)
    if current:
        annotate(draft, CURRENT, _write(current))
    if conditions:
        listed = [{name: each[name] for name in _CONDITION if name in each} for each in conditions]
        annotate(draft, CONDITIONS, _write(listed))


def _is_cpu(metric: Mapping[str, Any]) -> bool:
    return metric.get("type") == "Resource" and peek(metric, "resource").get("name") == "cpu"


def _utilization(metric: Mapping[str, Any], part: str) -> int | None:
    found: int | None = peek(metric, "resource", part).get("averageUtilization")
    return found


_LATEST: Final = Spoke(_drop_annotations)
FAMILIES: Final = {
    "HorizontalPodAutoscaler": Family(
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
        {
            "autoscaling/v1": Spoke(_single_to_hub, _single_from_hub, _default_v1),
            "autoscaling/v2beta1": Spoke(_flat_to_hub, _flat_from_hub),
            "autoscaling/v2beta2": _LATEST,
        },
        _LATEST,
    )
}
