"""Validation of ``metav1.Condition`` lists.

Follows ``k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required, too_long, unsupported
from simkit.meta.name_validation import qualified_name
from simkit.meta.objects import Object
from simkit.meta.wording import Worded

_STATUSES: Final = ("False", "True", "Unknown")
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_RULE: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  "
    "or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)


def validate_conditions(
    behaviour: ServedBehaviour, path: str, conditions: Sequence[Object], stamp: str = "lastTransitionTime"
) -> Iterator[FieldError]:
    """The errors of a list of conditions. One without the time in the field ``stamp`` lacks its ``lastTransitionTime``,
    as kube-apiserver calls it."""
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type") or ""
        if kind in seen:
            yield duplicate(f"{path}[{index}].type", kind)
        seen.add(kind)
        yield from _validate_fields(f"{path}[{index}]", condition, kind, stamp)


def _validate_fields(path: str, condition: Object, kind: str, stamp: str) -> Iterator[FieldError]:
    yield from (invalid_value(f"{path}.type", kind, text) for text in qualified_name(kind))
    if condition.get("status") not in _STATUSES:
        yield unsupported(f"{path}.status", condition.get("status") or "", _STATUSES)
    if (condition.get("observedGeneration") or 0) < 0:
        text = "must be greater than or equal to zero"
        yield invalid_value(f"{path}.observedGeneration", condition["observedGeneration"], text)
    if not condition.get(stamp):
        yield required(f"{path}.lastTransitionTime", _MUST_BE_SET)
    reason = condition.get("reason") or ""
    if not reason:
        yield required(f"{path}.reason", _MUST_BE_SET)
    elif not _REASON.fullmatch(reason):
        yield invalid_value(f"{path}.reason", reason, _REASON_RULE)
    if len(reason) > 1024:
        yield too_long(f"{path}.reason", 1024)
    if len(condition.get("message") or "") > 32768:
        yield too_long(f"{path}.message", 32768)


_MUST_BE_SET: Final = Worded("required-values-told-alone", "", "must be set")


def shown_conditions(conditions: Sequence[Object]) -> list[Object]:
    """Conditions in the order of their fields, with those that their JSON always has."""
    return [_shown(condition) for condition in conditions]


def _shown(condition: Object) -> Object:
    seen = {"observedGeneration": condition["observedGeneration"]} if condition.get("observedGeneration") else {}
    head = {name: condition.get(name) or "" for name in ("type", "status")}
    tail = {name: condition.get(name) or "" for name in ("reason", "message")}
    return {**head, **seen, "lastTransitionTime": condition.get("lastTransitionTime"), **tail}


def status_of(obj: Object, kind: str) -> Object | None:
    """The condition of some type in an object's status, or None."""
    conditions: Sequence[Object] = (obj.get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == kind), None)
