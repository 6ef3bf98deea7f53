"""Conversions of HorizontalPodAutoscaler: v1 has one metric, v2beta1 flat metrics, v2beta2 and v2 metrics with targets.

What an older version cannot say travels in annotations: all further metrics, behaviour, and the status of both.

Follows ``pkg/apis/autoscaling/v1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from simkit.kinds.conversions import metricspec
from simkit.kinds.conversions.family import Family, Spoke, annotate, entries, peek, pick, section, take_annotation
from simkit.meta import go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.objects import Draft


def behavior_to_annotation(behaviour: ServedBehaviour, behavior: Mapping[str, Any]) -> dict[str, Any]:
    """The behaviour with capitalized names; missing parts are null."""
    return {
        "ScaleUp": _rules(behaviour, behavior.get("scaleUp")),
        "ScaleDown": _rules(behaviour, behavior.get("scaleDown")),
    }


def _rules(behaviour: ServedBehaviour, rules: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if rules is None:
        return None
    policies = [
        {"Type": each.get("type", ""), "Value": each.get("value", 0), "PeriodSeconds": each.get("periodSeconds", 0)}
        for each in entries(rules, "policies")
    ]
    made = {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": policies if rules.get("policies") is not None else None,
    }
    return {**made, "Tolerance": rules.get("tolerance")} if behaviour.applies("autoscaling-tolerance") else made


def behavior_from_annotation(behavior: Mapping[str, Any]) -> dict[str, Any]:
    """The behaviour in the annotation. Names are read in any case, as by Go."""
    lowered = _lower(behavior)
    names = {"scaleup": "scaleUp", "scaledown": "scaleDown"}
    return {new: _read_rules(lowered[old]) for old, new in names.items() if lowered.get(old) is not None}


def _read_rules(rules: Mapping[str, Any]) -> dict[str, Any]:
    lowered = _lower(rules)
    found: dict[str, Any] = {
        "stabilizationWindowSeconds": lowered.get("stabilizationwindowseconds"),
        "selectPolicy": lowered.get("selectpolicy"),
    }
    if lowered.get("tolerance") is not None:
        found["tolerance"] = lowered["tolerance"]
    found = pick(found, *found)
    if lowered.get("policies") is not None:
        found["policies"] = [_read_policy(each) for each in lowered["policies"]]
    return found


def _read_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    lowered = _lower(policy)
    return {
        "type": lowered.get("type", ""),
        "value": lowered.get("value", 0),
        "periodSeconds": lowered.get("periodseconds", 0),
    }


def _lower(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name.lower(): value for name, value in part.items()}


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
    behavior = behavior_from_annotation(_read(take_annotation(draft, BEHAVIOR), dict) or {})
    if behavior:
        section(draft, "spec")["behavior"] = behavior


def _behavior_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    behavior = peek(draft, "spec").pop("behavior", None)
    if behavior is not None:
        annotate(draft, BEHAVIOR, _write(behavior_to_annotation(behaviour, behavior)))


# v2beta1


def _flat_to_hub(draft: Draft) -> None:
    _behavior_to_hub(draft)
    _drop_annotations(draft)
    for metric in entries(peek(draft, "spec"), "metrics"):
        metricspec.to_structured(metric)
    for metric in entries(peek(draft, "status"), "currentMetrics"):
        metricspec.status_to_structured(metric)


def _flat_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    _behavior_from_hub(behaviour, draft)
    for metric in entries(peek(draft, "spec"), "metrics"):
        metricspec.to_flat(metric)
    for metric in entries(peek(draft, "status"), "currentMetrics"):
        metricspec.status_to_flat(metric)


# v1


def _default_v1(draft: Draft) -> None:
    section(draft, "spec").setdefault("minReplicas", 1)


def _single_to_hub(draft: Draft) -> None:
    spec, status = section(draft, "spec"), peek(draft, "status")
    _behavior_to_hub(draft)
    metrics = _read(take_annotation(draft, METRICS), list) or []
    current = _read(take_annotation(draft, CURRENT), list)
    conditions = _read(take_annotation(draft, CONDITIONS), list)
    for metric in metrics:
        metricspec.to_structured(metric)
    for metric in current or ():
        metricspec.status_to_structured(metric)
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
    for metric in others:
        metricspec.to_flat(metric)
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
    for metric in current:
        metricspec.status_to_flat(metric)
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
