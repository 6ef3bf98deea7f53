"""Strategy of LimitRange: defaulting, validation, printer columns.

Follows ``pkg/registry/core/limitrange/strategy.go`` and ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.kinds.parts.copy_on_write import null_where_empty, own_copy, own_items
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.resource_quantities import (
    compare,
    is_counted,
    is_native,
    shown,
    validate_container_resource_name,
    validate_resource_name,
)
from simkit.kinds.rules import by, distinct, row, validation
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, WriteContext
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, forbidden_field, invalid_value, required
from simkit.meta.name_validation import qualified_name
from simkit.meta.objects import Draft, Object, metadata, name_of
from simkit.meta.quantity import parse

_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_RATIO: Final = "maxLimitRequestRatio"
Amounts = Mapping[str, str]


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    for limit in own_items(own_copy(draft, "spec"), "limits"):
        if limit.get("type") == "Container":
            _default_container(limit)


def _default_container(limit: Draft) -> None:
    """Set default limits from the maximum, and default requests from the limits or the minimum."""
    limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
    requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
    for name, amounts in (("default", limits), ("defaultRequest", requests)):
        if amounts:
            limit[name] = amounts


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    null_where_empty(own_copy(draft, "spec"), "limits")


def _prepare_with_context(
    behaviour: ServedBehaviour, draft: Draft, old: Object | None, circumstances: WriteContext
) -> None:
    """Name a limit range that has neither name nor generateName by a new uid."""
    if old is None and not name_of(draft):
        draft["metadata"]["name"] = circumstances.uid()


def _validate_type(behaviour: ServedBehaviour, path: str, kind: str) -> Errors:
    wrong = list(validate_text(path, kind, qualified_name))
    yield from wrong
    if not wrong and "/" not in kind and kind not in _TYPES:
        yield invalid_value(path, kind, "must be a standard limit type or fully qualified")


def _validate_limit(behaviour: ServedBehaviour, path: str, limit: Object) -> Errors:
    kind = limit.get("type") or ""
    rule = validate_container_resource_name if kind in ("Pod", "Container") else validate_resource_name

    def named(field: str) -> Errors:
        for name in sorted(limit.get(field) or {}):
            yield from rule(behaviour, f"{path}.{field}[{name}]", name)

    yield from named("max")
    yield from named("min")
    for field in ("default", "defaultRequest"):
        if kind != "Pod":
            yield from named(field)
        elif limit.get(field):
            yield forbidden_field(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
    bounded = "storage" in (limit.get("min") or {}) or "storage" in (limit.get("max") or {})
    if kind == "PersistentVolumeClaim" and not bounded:
        text = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", text)
    yield from named(_RATIO)
    fields = ("min", "max", _RATIO) if kind == "Pod" else ("min", "max", "default", "defaultRequest", _RATIO)
    names = sorted({name for field in fields for name in limit.get(field) or {}})
    for name in names:
        amounts = {field: limit[field][name] for field in fields if name in (limit.get(field) or {})}
        yield from _validate_order(amounts, path, name)
        yield from _validate_ratio(amounts, path, name)


_ORDER: Final = (
    ("min", "max", "min", "min", "min value", "max value"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min value", "default request value"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request value", "max value"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest", "default request value", "default limit value"),
    ("min", "default", "default", "min", "min value", "default value"),
    ("default", "max", "default", "max", "default value", "max value"),
)
"""Pairs of fields in ascending order; the field of the error, the amount that it shows, and the words for both."""


def _validate_order(amounts: Amounts, path: str, name: str) -> Errors:
    for less, more, field, value, word, other in _ORDER:
        if less in amounts and more in amounts and compare(amounts[less], amounts[more]) > 0:
            text = f"{word} {amounts[less]} is greater than {other} {amounts[more]}"
            yield invalid_value(f"{path}.{field}[{name}]", shown(amounts[value]), text)


def _validate_ratio(amounts: Amounts, path: str, name: str) -> Errors:
    where = f"{path}.{_RATIO}[{name}]"
    if _RATIO in amounts:
        ratio = amounts[_RATIO]
        if compare(ratio, "1") < 0:
            yield invalid_value(where, shown(ratio), f"ratio {ratio} is less than 1")
        least = parse(amounts["min"]).milli if "min" in amounts else 0
        if least and "max" in amounts:
            most = parse(amounts["max"]).milli / least
            if parse(ratio).milli / 1000 > most:
                text = f"ratio {ratio} is greater than max/min = {most:f}"
                yield invalid_value(where, shown(ratio), text)
    together = "default" in amounts and "defaultRequest" in amounts
    if together and not _overcommits(name) and compare(amounts["default"], amounts["defaultRequest"]):
        given, asked = amounts["default"], amounts["defaultRequest"]
        text = f"default value {given} must equal to defaultRequest value {asked} in {name}"
        yield invalid_value(f"{path}.defaultRequest[{name}]", shown(asked), text)


def _overcommits(name: str) -> bool:
    """True if limits of a resource may exceed its requests."""
    return is_native(name) and not name.startswith("hugepages-") and not (is_counted(name) and "/" in name)


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,)),
    default=_default,
    prepare=_prepare,
    prepare_with_context=_prepare_with_context,
    validate=validation(
        row("spec.limits[]", row("type", by(_validate_type), zero=""), distinct("type"), by(_validate_limit))
    ),
    print_row=lambda _, obj, __: [name_of(obj), metadata(obj).get("creationTimestamp")],
    allow_create_on_update=True,
)
