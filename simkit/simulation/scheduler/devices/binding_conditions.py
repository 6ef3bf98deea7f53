"""Conditions that the drivers of devices have to report before a pod is bound, and those by which they give up.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (``isClaimReadyForBinding``), releases 1.34 and 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from simkit.logic.workloads.status_conditions import find, is_true
from simkit.meta.behaviour import applies
from simkit.meta.clock import moment
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object, at, name_of

BINDING_TIMEOUT: Final = 600.0
"""Seconds after an allocation in which drivers have to report the conditions."""
_DEVICE: Final = ("driver", "pool", "device")


class BindingFailed(Exception):
    """A device that does not get ready. The text is kube-scheduler's."""


def awaits_devices() -> bool:
    """True if devices with such conditions are allocated at the served release, and waited for."""
    return applies("scheduler-awaits-devices") and applies("drivers-tell-status-of-devices")


def has_binding_conditions(claims: Iterable[Object]) -> bool:
    """True if a device of one of the claims has to be waited for."""
    return awaits_devices() and any(True for claim in claims for _ in _awaited(claim))


def _awaited(claim: Object) -> Iterator[Mapping[str, Any]]:
    """The devices of a claim that have conditions."""
    results = at(claim, "status", "allocation", "devices", "results") or ()
    return (each for each in results if each.get("bindingConditions"))


def is_ready(claim: Object) -> bool:
    """True if all conditions of all devices of a claim are met. Raises BindingFailed if one never will be."""
    if at(claim, "status", "allocation") is None:
        return False
    for result in _awaited(claim):
        conditions = _conditions(claim, result)
        if conditions is None:
            return False
        for name in result.get("bindingFailureConditions") or ():
            if is_true(conditions, name):
                raise BindingFailed(_failure(claim, find(conditions, name) or {}))
        if not all(is_true(conditions, name) for name in result["bindingConditions"]):
            return False
    return True


def _conditions(claim: Object, result: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """The conditions of an allocated device; None if its driver has told nothing of it."""
    for each in at(claim, "status", "devices") or ():
        if all(each.get(name) == result.get(name) for name in _DEVICE):
            return list(each.get("conditions") or ())
    return None


def _failure(claim: Object, condition: Mapping[str, Any]) -> str:
    why = f"reason={condition.get('reason', '')}, message={quoted(str(condition.get('message') or ''))}"
    if applies("scheduler-names-errors-of-binding"):
        return f"device binding failed: claim={name_of(claim)}, {why}"
    return f"claim {name_of(claim)} binding failed: {why}"


def is_timed_out(claim: Object, now: float) -> bool:
    """True if the conditions of a claim had to be reported before a time in seconds since the epoch."""
    allocated = at(claim, "status", "allocation", "allocationTimestamp")
    return bool(allocated) and any(True for _ in _awaited(claim)) and moment(allocated) + BINDING_TIMEOUT < now


def check_time(claim: Object, now: float) -> None:
    """Raise BindingFailed for a claim that is not ready in time."""
    if is_timed_out(claim, now):
        named = applies("scheduler-names-errors-of-binding")
        text = "device binding timeout: claim={}" if named else "claim {} binding timeout"
        raise BindingFailed(text.format(name_of(claim)))


def deadline_passed() -> str:
    """The text for a pod that has waited as long as it may."""
    named = applies("scheduler-names-errors-of-binding")
    return "device binding timeout: context deadline exceeded" if named else "device binding timeout"


def is_stuck(claim: Object, now: float) -> bool:
    """True if the devices of a claim have failed, or were not ready in time, so that it needs others."""
    if not awaits_devices() or at(claim, "status", "allocation") is None:
        return False
    try:
        return not is_ready(claim) and is_timed_out(claim, now)
    except BindingFailed:
        return True
