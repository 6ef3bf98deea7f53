"""Validation of the ``podFailurePolicy`` of a job.

Follows ``pkg/apis/batch/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.syntax import whole_numbers
from simkit.kinds.parts.validation.labels import validate_qualified_name
from simkit.kinds.parts.validation.repeats import repeats
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import (
    OMITTED,
    FieldError,
    Shown,
    duplicate,
    invalid_value,
    quoted,
    required,
    too_many,
    unsupported,
)
from simkit.meta.objects import Object, at
from simkit.meta.podspec import NON_EPHEMERAL, containers_of

_EVERY_ACTION: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_MOST_RULES: Final = 20
_MOST_CODES: Final = 255


def validate_failure_policy(path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of the ``podFailurePolicy`` of a job."""
    rules = at(spec, "podFailurePolicy", "rules") or ()
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), _MOST_RULES)
    names: set[Any] = {one.get("name") for one in containers_of(at(spec, "template", "spec") or {}, NON_EPHEMERAL)}
    for index, rule in enumerate(rules):
        at_rule = f"{path}.rules[{index}]"
        yield from _validate_action(f"{at_rule}.action", rule.get("action") or "", spec)
        yield from _validate_match(at_rule, rule, names)


def _choices(values: Sequence[str]) -> str:
    listed = " ".join(map(quoted, values))
    return f"valid values: [{listed}]"


def _actions() -> Sequence[str]:
    """The actions of the release."""
    return _EVERY_ACTION if applies("indexes-fail-alone") else [each for each in _EVERY_ACTION if each != "FailIndex"]


def _validate_action(path: str, action: str, spec: Object) -> Iterator[FieldError]:
    if not action:
        yield required(path, _choices(_actions()))
    elif action not in _actions():
        yield unsupported(path, action, _actions())
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield invalid_value(path, action, "requires the backoffLimitPerIndex to be set")


def _validate_match(path: str, rule: Object, names: set[str]) -> Iterator[FieldError]:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        yield from _validate_code(f"{path}.onExitCodes", codes, names)
    if conditions:
        yield from _validate_condition(f"{path}.onPodConditions", conditions)
    if codes is not None and conditions:
        yield invalid_value(path, OMITTED, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not conditions:
        yield invalid_value(path, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required")


def _validate_code(path: str, codes: Object, names: set[str]) -> Iterator[FieldError]:
    operator, values = codes.get("operator") or "", codes.get("values") or ()
    if not operator:
        yield required(f"{path}.operator", _choices(_OPERATORS))
    elif operator not in _OPERATORS:
        yield unsupported(f"{path}.operator", operator, _OPERATORS)
    name = codes.get("containerName")
    if name is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        yield invalid_value(f"{path}.containerName", name, text)
    if not values:
        shown = whole_numbers(values) if codes.get("values") is not None else Shown("[]int32(nil)", None)
        yield invalid_value(f"{path}.values", shown, "at least one value is required")
    elif len(values) > _MOST_CODES:
        yield too_many(f"{path}.values", len(values), _MOST_CODES)
    again = repeats(values)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid_value(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if index in again:
            yield duplicate(f"{path}.values[{index}]", value)
    if sorted(values) != list(values):
        yield invalid_value(f"{path}.values", whole_numbers(values), "must be ordered")


def _validate_condition(path: str, conditions: Sequence[Object]) -> Iterator[FieldError]:
    if len(conditions) > _MOST_RULES:
        yield too_many(path, len(conditions), _MOST_RULES)
    for index, condition in enumerate(conditions):
        status = condition.get("status") or ""
        yield from validate_qualified_name(f"{path}[{index}].type", condition.get("type") or "")
        if not status:
            yield required(f"{path}[{index}].status", _choices(_STATUSES))
        elif status not in _STATUSES:
            yield unsupported(f"{path}[{index}].status", status, _STATUSES)
