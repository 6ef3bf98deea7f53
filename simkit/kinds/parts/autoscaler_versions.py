"""An autoscaler in its first version: one number for the processor, everything else kept in annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from simkit.meta.domain import LABEL_DOMAIN
from simkit.meta.objects import Draft, Object, annotations_of, at

_PREFIX: Final = f"autoscaling.alpha.{LABEL_DOMAIN}/"
_METRICS, _CURRENT = f"{_PREFIX}metrics", f"{_PREFIX}current-metrics"
_CONDITIONS, _BEHAVIOR = f"{_PREFIX}conditions", f"{_PREFIX}behavior"
_ALL: Final = (_METRICS, _CURRENT, _CONDITIONS, _BEHAVIOR)
_PLAIN_STATUS: Final = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")

Convert = Callable[[Object], Draft]


def _kept(values: Mapping[str, Any]) -> Draft:
    return {name: value for name, value in values.items() if value is not None}


# From the second version to the first


def first_version(obj: Object) -> Draft:
    """The autoscaler as the first version shows it."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    metrics = spec.get("metrics") or ()
    share = next(
        (at(metric, "resource", "target", "averageUtilization") for metric in metrics if _is_share(metric)), None
    )
    shown = _kept(
        {
            "scaleTargetRef": spec.get("scaleTargetRef"),
            "minReplicas": spec.get("minReplicas"),
            "maxReplicas": spec.get("maxReplicas"),
            "targetCPUUtilizationPercentage": share,
        }
    )
    made = {**obj, "spec": shown, "status": _first_status(status)}
    return _with_annotations(made, {**annotations_of(obj), **_notes(spec, status)})


def _is_share(metric: Object) -> bool:
    """Whether a metric is the share of the processor, the one that the first version has a field for."""
    share = at(metric, "resource", "target", "averageUtilization")
    return metric.get("type") == "Resource" and at(metric, "resource", "name") == "cpu" and share is not None


def _first_status(status: Object) -> Draft:
    current = status.get("currentMetrics") or ()
    found = (at(each, "resource", "current", "averageUtilization") for each in current if _is_processor(each))
    share = next((value for value in found if value is not None), None)
    made = {"currentReplicas": 0, "desiredReplicas": 0, **{name: status.get(name) for name in _PLAIN_STATUS}}
    made["currentReplicas"] = made["currentReplicas"] or 0
    return _kept({**made, "currentCPUUtilizationPercentage": share})


def _is_processor(metric: Object) -> bool:
    return metric.get("type") == "Resource" and at(metric, "resource", "name") == "cpu"


def _notes(spec: Object, status: Object) -> dict[str, str]:
    others = [_typed(metric, _TARGETS) for metric in spec.get("metrics") or () if not _is_share(metric)]
    current = [_typed(metric, _STATUSES) for metric in status.get("currentMetrics") or ()]
    conditions = [dict(condition) for condition in status.get("conditions") or ()]
    found = {_METRICS: others, _CURRENT: current, _CONDITIONS: conditions}
    notes = {name: orjson.dumps(value).decode() for name, value in found.items() if value}
    if spec.get("behavior") is not None:
        notes[_BEHAVIOR] = orjson.dumps(_capitalised(spec["behavior"])).decode()
    return notes


def _with_annotations(obj: Draft, annotations: Mapping[str, str]) -> Draft:
    metadata = {**(obj.get("metadata") or {}), "annotations": dict(annotations)}
    if not annotations:
        del metadata["annotations"]
    return {**obj, "metadata": metadata}


def _typed(metric: Object, converters: Mapping[str, tuple[str, Convert]]) -> Draft:
    """A metric with the source of its type in the first version's form."""
    made: Draft = {"type": metric.get("type") or ""}
    for field, convert in converters.values():
        if metric.get(field) is not None:
            made[field] = convert(metric[field])
    return made


def _old_object(source: Object) -> Draft:
    target, metric = source.get("target") or {}, source.get("metric") or {}
    made = {"target": source.get("describedObject"), "metricName": metric.get("name") or ""}
    made |= {"targetValue": target.get("value") or "0", "selector": metric.get("selector")}
    return _kept({**made, "averageValue": target.get("averageValue")})


def _old_pods(source: Object) -> Draft:
    metric = source.get("metric") or {}
    made = {"metricName": metric.get("name") or "", "targetAverageValue": at(source, "target", "averageValue") or "0"}
    return _kept({**made, "selector": metric.get("selector")})


def _old_resource(source: Object) -> Draft:
    target = source.get("target") or {}
    shares = {"targetAverageUtilization": target.get("averageUtilization")}
    made = {"name": source.get("name") or "", **shares, "targetAverageValue": target.get("averageValue")}
    return _kept({**made, "container": source.get("container")})


def _old_external(source: Object) -> Draft:
    target, metric = source.get("target") or {}, source.get("metric") or {}
    made = {"metricName": metric.get("name") or "", "metricSelector": metric.get("selector")}
    return _kept({**made, "targetValue": target.get("value"), "targetAverageValue": target.get("averageValue")})


_TARGETS: Final[Mapping[str, tuple[str, Convert]]] = {
    "Object": ("object", _old_object),
    "Pods": ("pods", _old_pods),
    "Resource": ("resource", _old_resource),
    "ContainerResource": ("containerResource", _old_resource),
    "External": ("external", _old_external),
}


def _old_object_status(source: Object) -> Draft:
    current, metric = source.get("current") or {}, source.get("metric") or {}
    made = {"target": source.get("describedObject"), "metricName": metric.get("name") or ""}
    made |= {"currentValue": current.get("value") or "0", "selector": metric.get("selector")}
    return _kept({**made, "averageValue": current.get("averageValue")})


def _old_pods_status(source: Object) -> Draft:
    metric = source.get("metric") or {}
    made = {"metricName": metric.get("name") or "", "currentAverageValue": at(source, "current", "averageValue") or "0"}
    return _kept({**made, "selector": metric.get("selector")})


def _old_resource_status(source: Object) -> Draft:
    current = source.get("current") or {}
    made = {"name": source.get("name") or "", "currentAverageUtilization": current.get("averageUtilization")}
    made |= {"currentAverageValue": current.get("averageValue") or "0"}
    return _kept({**made, "container": source.get("container")})


def _old_external_status(source: Object) -> Draft:
    current, metric = source.get("current") or {}, source.get("metric") or {}
    made = {"metricName": metric.get("name") or "", "metricSelector": metric.get("selector")}
    made |= {"currentValue": current.get("value") or "0"}
    return _kept({**made, "currentAverageValue": current.get("averageValue")})


_STATUSES: Final[Mapping[str, tuple[str, Convert]]] = {
    "Object": ("object", _old_object_status),
    "Pods": ("pods", _old_pods_status),
    "Resource": ("resource", _old_resource_status),
    "ContainerResource": ("containerResource", _old_resource_status),
    "External": ("external", _old_external_status),
}


def _capitalised(value: Any) -> Any:
    """A structure whose fields are written as Go names them."""
    if isinstance(value, Mapping):
        return {name[:1].upper() + name[1:]: _capitalised(item) for name, item in _whole_rules(value).items()}
    return [_capitalised(item) for item in value] if isinstance(value, list) else value


def _whole_rules(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rules of scaling with the fields that they leave out as null, in the order in which Go has them."""
    if "policies" in value:
        return {name: value.get(name) for name in ("stabilizationWindowSeconds", "selectPolicy", "policies")}
    if "periodSeconds" in value:
        return {name: value.get(name) for name in ("type", "value", "periodSeconds")}
    return {name: value.get(name) for name in ("scaleUp", "scaleDown")}


def _lowered(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name[:1].lower() + name[1:]: _lowered(item) for name, item in value.items() if item is not None}
    return [_lowered(item) for item in value] if isinstance(value, list) else value


# From the first version to the second


def second_version(obj: Object) -> Draft:
    """The autoscaler of the first version as the second has it; the annotations that keep the rest are taken away."""
    spec, status, notes = dict(obj.get("spec") or {}), obj.get("status") or {}, annotations_of(obj)
    share = spec.pop("targetCPUUtilizationPercentage", None)
    metrics = [_share(share)] if share is not None else []
    metrics += [_untyped(metric, _NEW_TARGETS) for metric in _list(notes.get(_METRICS))]
    if metrics:
        spec["metrics"] = metrics
    behavior = _decoded(notes.get(_BEHAVIOR))
    if isinstance(behavior, Mapping) and behavior:
        spec["behavior"] = _lowered(behavior)
    made = {**obj, "spec": spec, "status": _second_status(status, notes)}
    return _with_annotations(made, {name: text for name, text in notes.items() if name not in _ALL})


def _share(percent: int) -> Draft:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _second_status(status: Object, notes: Mapping[str, str]) -> Draft:
    made = _kept({name: status.get(name) for name in _PLAIN_STATUS})
    made["desiredReplicas"] = made.get("desiredReplicas") or 0
    if not made.get("currentReplicas"):
        made.pop("currentReplicas", None)
    current = [_untyped(metric, _NEW_STATUSES) for metric in _list(notes.get(_CURRENT))]
    share = status.get("currentCPUUtilizationPercentage")
    if share is not None and not current:
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": share}}}]
    made["currentMetrics"] = current or None
    conditions = _list(notes.get(_CONDITIONS))
    return {**made, "conditions": conditions} if conditions else made


def _decoded(text: str | None) -> Any:
    """The value of an annotation; None for one that cannot be read, which is then lost."""
    try:
        return orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return None


def _list(text: str | None) -> Sequence[Object]:
    found = _decoded(text)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _untyped(metric: Object, converters: Mapping[str, Convert]) -> Draft:
    made: Draft = {"type": metric.get("type") or ""}
    for field, convert in converters.items():
        if metric.get(field) is not None:
            made[field] = convert(metric[field])
    return made


def _identifier(source: Object, selector: str = "selector") -> Draft:
    return _kept({"name": source.get("metricName") or "", "selector": source.get(selector)})


def _new_object(source: Object) -> Draft:
    average = source.get("averageValue")
    value = None if average is not None and source.get("targetValue") in (None, "0") else source.get("targetValue")
    target = {"type": "Value" if average is None else "AverageValue", "value": value, "averageValue": average}
    return {"describedObject": source.get("target") or {}, "target": _kept(target), "metric": _identifier(source)}


def _new_pods(source: Object) -> Draft:
    target = {"type": "AverageValue", "averageValue": source.get("targetAverageValue")}
    return {"metric": _identifier(source), "target": _kept(target)}


def _new_resource(source: Object) -> Draft:
    share, value = source.get("targetAverageUtilization"), source.get("targetAverageValue")
    kind = "AverageValue" if share is None else "Utilization"
    target = _kept({"type": kind, "averageValue": value, "averageUtilization": share})
    return _kept({"name": source.get("name") or "", "target": target, "container": source.get("container")})


def _new_external(source: Object) -> Draft:
    value, average = source.get("targetValue"), source.get("targetAverageValue")
    target = {"type": "AverageValue" if value is None else "Value", "value": value, "averageValue": average}
    return {"metric": _identifier(source, "metricSelector"), "target": _kept(target)}


_NEW_TARGETS: Final[Mapping[str, Convert]] = {
    "object": _new_object,
    "pods": _new_pods,
    "resource": _new_resource,
    "containerResource": _new_resource,
    "external": _new_external,
}


def _new_object_status(source: Object) -> Draft:
    current = _kept({"value": source.get("currentValue"), "averageValue": source.get("averageValue")})
    return {"metric": _identifier(source), "current": current, "describedObject": source.get("target") or {}}


def _new_pods_status(source: Object) -> Draft:
    return {"metric": _identifier(source), "current": _kept({"averageValue": source.get("currentAverageValue")})}


def _new_resource_status(source: Object) -> Draft:
    share, value = source.get("currentAverageUtilization"), source.get("currentAverageValue")
    current = _kept({"averageValue": value, "averageUtilization": share})
    return _kept({"name": source.get("name") or "", "current": current, "container": source.get("container")})


def _new_external_status(source: Object) -> Draft:
    current = {"value": source.get("currentValue"), "averageValue": source.get("currentAverageValue")}
    return {"metric": _identifier(source, "metricSelector"), "current": _kept(current)}


_NEW_STATUSES: Final[Mapping[str, Convert]] = {
    "object": _new_object_status,
    "pods": _new_pods_status,
    "resource": _new_resource_status,
    "containerResource": _new_resource_status,
    "external": _new_external_status,
}
