"""Validation of taints of devices, and of the rules that set them.

Follows ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.labels import validate_qualified_name
from simkit.meta.behaviour import applies
from simkit.meta.clock import timestamp
from simkit.meta.fielderror import FieldError, required, unsupported
from simkit.meta.name_validation import label_value
from simkit.meta.objects import Draft, Object

_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")


def taint_effects() -> Sequence[str]:
    """The effects that taints of devices may have at the served release."""
    return _EFFECTS if applies("device-taints-without-effect") else _EFFECTS[:-1]


def default_taint(taint: Draft, now: float) -> None:
    """Say when a taint was added, if nothing else says it."""
    if taint.get("timeAdded") is None:
        taint["timeAdded"] = timestamp(now)


def validate_taint(path: str, taint: Any) -> Iterator[FieldError]:
    """The errors of a new taint."""
    return validate_changed_taint(path, taint, None)


def validate_changed_taint(path: str, taint: Object, old: Object | None) -> Iterator[FieldError]:
    """The errors of a taint; an effect that was stored is not looked at."""
    yield from validate_qualified_name(f"{path}.key", taint.get("key") or "")
    if taint.get("value"):
        yield from validate_text(f"{path}.value", taint["value"], label_value)
    effect = taint.get("effect") or ""
    if old is not None and (old.get("effect") or "") == effect and applies("device-taints-without-effect"):
        return
    if not effect:
        yield required(f"{path}.effect")
    elif effect not in taint_effects():
        yield unsupported(f"{path}.effect", effect, taint_effects())
