"""Strategy of HorizontalPodAutoscaler: defaulting, validation, printer columns.

Follows ``pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go`` and
``pkg/apis/autoscaling/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.autoscaling_metrics import validate_metrics
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.printers.cells import NONE, UNKNOWN, UNSET, created
from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.kinds.parts.validation.object_references import validate_scaled_reference, validate_version
from simkit.kinds.parts.validation.resource_quantities import validate_nonnegative_quantity
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, invalid_value, required, unsupported
from simkit.meta.objects import Draft, Object, at, name_of

_LONGEST_WINDOW, _LONGEST_PERIOD = 3600, 1800
_SELECT: Final = ("Disabled", "Max", "Min")
_POLICIES: Final = ("Percent", "Pods")
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


def _default(draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _SHARE}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if spec.get("behavior") is not None:
        behavior = own_copy(spec, "behavior")
        behavior["scaleUp"] = {**_UP, **(behavior.get("scaleUp") or {})}
        behavior["scaleDown"] = {**_DOWN, **(behavior.get("scaleDown") or {})}


def _prepare(draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {"currentMetrics": None, "desiredReplicas": 0}
    elif "status" in draft and not at(draft, "status", "currentMetrics"):
        own_copy(draft, "status")["currentMetrics"] = None


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    kept = old is not None and at(old, "spec", "minReplicas") == 0
    least = 0 if kept or applies("autoscaling-to-zero") else 1
    return list(_validate_fields(obj["spec"], least, old))


def _validate_fields(spec: Object, least: int, old: Object | None) -> Iterator[FieldError]:
    low, high = spec["minReplicas"], spec.get("maxReplicas") or 0
    if low < least:
        yield invalid_value("spec.minReplicas", low, f"must be greater than or equal to {least}")
    if high < 1:
        yield _no_replicas(high)
    if high < low:
        yield invalid_value("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    yield from validate_scaled_reference("spec.scaleTargetRef", spec.get("scaleTargetRef") or {})
    if applies("scaled-versions-checked"):
        yield from _validate_target_version(spec, old)
    yield from validate_metrics("spec.metrics", spec["metrics"], low)
    for side in ("scaleUp", "scaleDown"):
        rules = at(spec, "behavior", side)
        if rules is not None:
            yield from _validate_rule(f"spec.behavior.{side}", rules)


def _validate_target_version(spec: Object, old: Object | None) -> Iterator[FieldError]:
    """An error of the version of what is scaled, unless it is the stored one."""
    target, before = spec.get("scaleTargetRef") or {}, at(old, "spec", "scaleTargetRef") or {}
    if old is not None and all(target.get(name) == before.get(name) for name in ("apiVersion", "kind")):
        return
    core = target.get("kind") == "ReplicationController"
    yield from validate_version("spec.scaleTargetRef.apiVersion", target.get("apiVersion") or "", core=core)


def _no_replicas(high: int) -> FieldError:
    path = "spec.maxReplicas"
    if not applies("most-replicas-required"):
        return invalid_value(path, high, "must be greater than 0")
    if not high:
        return required(path, "must be set and greater than 0")
    return invalid_value(path, high, "must be greater than or equal to 1")


def _validate_rule(path: str, rules: Object) -> Iterator[FieldError]:
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    where = f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        yield invalid_value(where, window, "must be greater than or equal to zero")
    if window is not None and window > _LONGEST_WINDOW:
        yield invalid_value(where, window, f"must be less than or equal to {_LONGEST_WINDOW}")
    if select is not None and select not in _SELECT:
        yield unsupported(f"{path}.selectPolicy", select, _SELECT)
    if not rules.get("policies"):
        yield required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(rules.get("policies") or ()):
        yield from _validate_policy(f"{path}.policies[{index}]", policy)
    if rules.get("tolerance") is not None:
        yield from validate_nonnegative_quantity(f"{path}.tolerance", rules["tolerance"])


def _validate_policy(path: str, policy: Object) -> Iterator[FieldError]:
    if policy.get("type") not in _POLICIES:
        yield unsupported(f"{path}.type", policy.get("type") or "", _POLICIES)
    for name in ("value", "periodSeconds"):
        number = policy.get(name) or 0
        if number <= 0:
            yield invalid_value(f"{path}.{name}", number, "must be greater than zero")
    if (policy.get("periodSeconds") or 0) > _LONGEST_PERIOD:
        text = f"must be less than or equal to {_LONGEST_PERIOD}"
        yield invalid_value(f"{path}.periodSeconds", policy["periodSeconds"], text)


def _validate_status(obj: Object, old: Object | None) -> Sequence[FieldError]:
    status = obj.get("status") or {}
    names = ("currentReplicas", "desiredReplicas")
    return [error for name in names for error in validate_nonnegative(f"status.{name}", status.get(name))]


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec.get("metrics") or (), status.get("currentMetrics") or ()),
        str(spec["minReplicas"]) if spec.get("minReplicas") is not None else UNSET,
        spec.get("maxReplicas") or 0,
        status.get("currentReplicas") or 0,
        created(obj, now),
    ]


def _metrics(metrics: Sequence[Object], current: Sequence[Object]) -> str:
    """The targets and current values of the first two metrics, and the number of others."""
    if not metrics:
        return NONE
    texts = [_metric(metric, current[index] if index < len(current) else {}) for index, metric in enumerate(metrics)]
    more = len(texts) - 2
    return ", ".join(texts[:2]) + (f" + {more} more..." if more > 0 else "")


def _metric(metric: Object, status: Object) -> str:
    kind = metric.get("type") or ""
    field = kind[:1].lower() + kind[1:]
    target, now = at(metric, field, "target") or {}, at(status, field, "current") or {}
    absent = UNKNOWN if at(status, field) is None else _NIL
    if kind in ("Resource", "ContainerResource"):
        named = f"{at(metric, field, 'name') or ''}: " if applies("resources-of-autoscalers-named") else ""
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


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_status, _validate_status)},
)
