"""Metrics of autoscalers, flat (v2beta1, and the annotations of v1) and structured (v2beta2, v2).

Flat metrics have a value where structured ones may have none; kube-apiserver then writes the value 0. Keys come out
in the order in which it writes them, since annotations are compared as texts.

Follows ``pkg/apis/autoscaling/v2beta1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simkit.kinds.conversions.family import peek, pick

Part = dict[str, Any]


def to_structured(metric: Part) -> None:
    """Change a flat metric into a structured one, in place."""
    _change(metric, _STRUCTURED)


def to_flat(metric: Part) -> None:
    """Change a structured metric into a flat one, in place."""
    _change(metric, _FLAT)


def status_to_structured(metric: Part) -> None:
    """Change a flat measured metric into a structured one, in place."""
    _change(metric, _STATUS_STRUCTURED)


def status_to_flat(metric: Part) -> None:
    """Change a structured measured metric into a flat one, in place."""
    _change(metric, _STATUS_FLAT)


def _change(metric: Part, table: Mapping[str, Callable[[Part], Part]]) -> None:
    for name, change in table.items():
        if isinstance(metric.get(name), dict):
            metric[name] = change(metric[name])
    ordered: Part = {name: metric[name] for name in ("type", *_ORDER) if name in metric}
    metric.clear()
    metric.update(ordered)


_ORDER: Final = ("object", "pods", "resource", "containerResource", "external")


def _metric(part: Part, name: str, selector: str) -> Part:
    found = {"name": part.get(name, "")}
    return {**found, "selector": part[selector]} if part.get(selector) is not None else found


def _named(part: Part, name: str, selector: str) -> tuple[Part, Part]:
    metric = peek(part, "metric")
    return {name: metric.get("name", "")}, {selector: metric["selector"]} if metric.get("selector") else {}


def _renamed(part: Mapping[str, Any], **names: str) -> Part:
    """Values under new names, in the order of the new names; missing ones stay missing."""
    return {new: part[old] for new, old in names.items() if part.get(old) is not None}


def _reference(part: Part) -> Part:
    """The described object, with its keys in their order."""
    return pick(peek(part, "describedObject"), "kind", "name", "apiVersion")


# Wanted


def _resource_in(part: Part) -> Part:
    utilization = part.get("targetAverageUtilization")
    target = {"type": "AverageValue" if utilization is None else "Utilization"}
    target |= _renamed(part, averageValue="targetAverageValue", averageUtilization="targetAverageUtilization")
    return {"name": part.get("name", ""), "target": target, **pick(part, "container")}


def _resource_out(part: Part) -> Part:
    target = peek(part, "target")
    flat = _renamed(target, targetAverageUtilization="averageUtilization", targetAverageValue="averageValue")
    return {"name": part.get("name", ""), **flat, **pick(part, "container")}


def _pods_in(part: Part) -> Part:
    target = {"type": "AverageValue", "averageValue": part.get("targetAverageValue") or "0"}
    return {"metric": _metric(part, "metricName", "selector"), "target": target}


def _pods_out(part: Part) -> Part:
    name, selector = _named(part, "metricName", "selector")
    return {**name, "targetAverageValue": peek(part, "target").get("averageValue") or "0", **selector}


def _object_in(part: Part) -> Part:
    kind = "Value" if part.get("averageValue") is None else "AverageValue"
    target = {"type": kind, "value": part.get("targetValue") or "0", **pick(part, "averageValue")}
    metric = _metric(part, "metricName", "selector")
    return {"describedObject": part.get("target", {}), "target": target, "metric": metric}


def _object_out(part: Part) -> Part:
    name, selector = _named(part, "metricName", "selector")
    target = peek(part, "target")
    described = {"target": _reference(part)}
    return {**described, **name, "targetValue": target.get("value") or "0", **selector, **pick(target, "averageValue")}


def _external_in(part: Part) -> Part:
    kind = "AverageValue" if part.get("targetValue") is None else "Value"
    target = {"type": kind, **_renamed(part, value="targetValue", averageValue="targetAverageValue")}
    return {"metric": _metric(part, "metricName", "metricSelector"), "target": target}


def _external_out(part: Part) -> Part:
    name, selector = _named(part, "metricName", "metricSelector")
    values = _renamed(peek(part, "target"), targetValue="value", targetAverageValue="averageValue")
    return {**name, **selector, **values}


# Measured


def _resource_now_in(part: Part) -> Part:
    current = _renamed(part, averageValue="currentAverageValue", averageUtilization="currentAverageUtilization")
    return {"name": part.get("name", ""), "current": current, **pick(part, "container")}


def _resource_now_out(part: Part) -> Part:
    current = peek(part, "current")
    flat = _renamed(current, currentAverageUtilization="averageUtilization")
    value = {"currentAverageValue": current.get("averageValue") or "0"}
    return {"name": part.get("name", ""), **flat, **value, **pick(part, "container")}


def _pods_now_in(part: Part) -> Part:
    current = {"averageValue": part.get("currentAverageValue") or "0"}
    return {"metric": _metric(part, "metricName", "selector"), "current": current}


def _pods_now_out(part: Part) -> Part:
    name, selector = _named(part, "metricName", "selector")
    return {**name, "currentAverageValue": peek(part, "current").get("averageValue") or "0", **selector}


def _object_now_in(part: Part) -> Part:
    current = {"value": part.get("currentValue") or "0", **pick(part, "averageValue")}
    metric = _metric(part, "metricName", "selector")
    return {"metric": metric, "current": current, "describedObject": part.get("target", {})}


def _object_now_out(part: Part) -> Part:
    name, selector = _named(part, "metricName", "selector")
    current = peek(part, "current")
    value = {"currentValue": current.get("value") or "0"}
    return {"target": _reference(part), **name, **value, **selector, **pick(current, "averageValue")}


def _external_now_in(part: Part) -> Part:
    current = {"value": part.get("currentValue") or "0", **_renamed(part, averageValue="currentAverageValue")}
    return {"metric": _metric(part, "metricName", "metricSelector"), "current": current}


def _external_now_out(part: Part) -> Part:
    name, selector = _named(part, "metricName", "metricSelector")
    current = peek(part, "current")
    value = {"currentValue": current.get("value") or "0"}
    return {**name, **selector, **value, **_renamed(current, currentAverageValue="averageValue")}


_Table = Mapping[str, Callable[[Part], Part]]


def _table(
    resource: Callable[[Part], Part],
    pods: Callable[[Part], Part],
    obj: Callable[[Part], Part],
    external: Callable[[Part], Part],
) -> _Table:
    return {"object": obj, "pods": pods, "resource": resource, "containerResource": resource, "external": external}


_STRUCTURED: Final = _table(_resource_in, _pods_in, _object_in, _external_in)
_FLAT: Final = _table(_resource_out, _pods_out, _object_out, _external_out)
_STATUS_STRUCTURED: Final = _table(_resource_now_in, _pods_now_in, _object_now_in, _external_now_in)
_STATUS_FLAT: Final = _table(_resource_now_out, _pods_now_out, _object_now_out, _external_now_out)
