"""Strategy of ResourceQuota: validation of limits and scopes, printer columns.

Follows ``pkg/registry/core/resourcequota/strategy.go`` and ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, repeat
from typing import Any, Final

from simkit.kinds.parts.cells import created
from simkit.kinds.parts.copy_on_write import keep_all_but_status, prepared
from simkit.kinds.parts.go_printing.structures import structure, texts
from simkit.kinds.parts.validation.resource_quantities import (
    is_standard_quota,
    validate_quota_resource_name,
    validate_resource_quantity,
)
from simkit.kinds.rules import FIXED
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.deadline import checked
from simkit.meta.fielderror import Errors, FieldError, Shown, invalid_value, required
from simkit.meta.objects import Object, at, name_of

_SCOPES: Final = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
)
_CLASS: Final = "VolumeAttributesClass"
_COMPUTE: Final = frozenset({"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
_PAIRS: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_CONFLICT: Final = "conflicting scopes"
_MOST: Final = 100_000
"""Errors that are counted: each scope may have one for each resource that it does not apply to."""
_ELSEWHERE: Final = "unsupported scope applied to resource"
_MUST_EXIST: Final = (
    "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    yield from islice(_validate_fields(behaviour, obj["spec"]), _MOST)
    scopes = obj["spec"].get("scopes") or []
    if old is not None and set(scopes) != set(at(old, "spec", "scopes") or ()):
        yield invalid_value("spec.scopes", _shown(scopes), FIXED)


def _validate_fields(behaviour: ServedBehaviour, spec: Object) -> Errors:
    hard: Mapping[str, str] = spec.get("hard") or {}
    yield from _validate_amounts(behaviour, "spec.hard", hard)
    scopes = spec.get("scopes") or ()
    shown, unfit = _shown(scopes), {scope: _unfit(behaviour, scope, hard) for scope in set(scopes)}
    for scope in checked(scopes):
        if scope not in _scopes(behaviour):
            yield invalid_value("spec.scopes", shown, "unsupported scope")
        yield from repeat(invalid_value("spec.scopes", shown, _ELSEWHERE), len(unfit[scope]))
    for pair in _PAIRS:
        if set(pair) <= set(scopes):
            yield invalid_value("spec.scopes", shown, _CONFLICT)
    if spec.get("scopeSelector") is not None:
        yield from _validate_selector(behaviour, spec, hard)


def _scopes(behaviour: ServedBehaviour) -> Sequence[str]:
    return (*_SCOPES, _CLASS) if behaviour.applies("quota-of-volume-attributes-classes") else _SCOPES


def _of_claims(name: str) -> bool:
    return name in ("persistentvolumeclaims", "requests.storage")


def _validate_amounts(behaviour: ServedBehaviour, path: str, amounts: Mapping[str, str]) -> Errors:
    for name in sorted(amounts):
        yield from validate_quota_resource_name(behaviour, f"{path}[{name}]", name)
        yield from validate_resource_quantity(behaviour, f"{path}[{name}]", name, amounts[name])


def _unfit(behaviour: ServedBehaviour, scope: str, hard: Mapping[str, str]) -> list[str]:
    """The resources that a scope does not apply to."""
    if scope not in _scopes(behaviour):
        return []
    if scope == _CLASS:
        return [name for name in sorted(hard) if is_standard_quota(name) and not _of_claims(name)]
    fit = {"pods"} if scope == "BestEffort" else _COMPUTE | {"pods"}
    return [name for name in sorted(hard) if is_standard_quota(name) and name not in fit]


def _validate_selector(behaviour: ServedBehaviour, spec: Object, hard: Mapping[str, str]) -> Errors:
    path, expressions = "spec.scopeSelector.matchExpressions", spec["scopeSelector"].get("matchExpressions") or ()
    shown = structure("core.ScopeSelector", {"matchExpressions": expressions})
    unfit = {
        scope: _unfit(behaviour, scope, hard)
        for scope in {expression.get("scopeName") or "" for expression in expressions}
    }
    for expression in checked(expressions):
        scope, operator = expression.get("scopeName") or "", expression.get("operator") or ""
        values = expression.get("values") or ()
        if scope not in _scopes(behaviour):
            yield invalid_value(f"{path}.scopeName", scope, "unsupported scope")
        yield from repeat(invalid_value(path, shown, _ELSEWHERE), len(unfit[scope]))
        if scope in _SCOPES and scope != "PriorityClass" and operator != "Exists":
            text = (
                _MUST_EXIST.replace("'Exist'", "'Exists'")
                if behaviour.applies("quota-error-names-exists")
                else _MUST_EXIST
            )
            yield invalid_value(f"{path}.operator", operator, text)
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield required(f"{path}.values", text)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid_value(f"{path}.values", texts(values), text)
        else:
            yield invalid_value(f"{path}.operator", operator, "not a valid selector operator")
    named = {expression.get("scopeName") for expression in expressions}
    for pair in _PAIRS:
        if set(pair) <= named:
            yield invalid_value(path, _shown(spec.get("scopes") or ()), _CONFLICT)


def _shown(scopes: Sequence[str]) -> Shown:
    """Scopes as Go prints the list."""
    return texts(scopes or None, "core.ResourceQuotaScope")


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    status = obj.get("status") or {}
    return [
        error
        for part in ("hard", "used")
        for error in _validate_amounts(behaviour, f"status.{part}", status.get(part) or {})
    ]


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    hard, used = at(obj, "status", "hard") or {}, at(obj, "status", "used") or {}
    parts: dict[bool, list[str]] = {False: [], True: []}
    for name in sorted(hard):
        parts[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    requests, limits = (", ".join(parts[is_limit]) for is_limit in (False, True))
    if behaviour.applies("age-of-quotas-last"):
        return [name_of(obj), requests, limits, created(obj, now)]
    return [name_of(obj), created(obj, now), requests, limits]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    prepare=prepared(spec=True, status={}),
    validate=_validate,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_status, _validate_status)},
    return_deleted_object=True,
)
