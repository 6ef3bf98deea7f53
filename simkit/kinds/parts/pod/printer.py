"""Printer columns of pods.

Follows ``pkg/printers/internalversion/printers.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.printers.cells import NONE, age, created, seconds
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object, at, metadata, name_of

_ENDINGS: Final[Mapping[str, str]] = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def pod_row_conditions(obj: Object) -> Sequence[Object]:
    """The conditions of a pod's row: whether the pod has completed."""
    phase = at(obj, "status", "phase")
    if phase not in _ENDINGS:
        return ()
    return ({"type": "Completed", "status": "True", "reason": phase, "message": _ENDINGS[phase]},)


def pod_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    """The cells of a pod's row."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    sidecars = {one.get("name") for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    first, reached = _initializing(obj, sidecars)
    beside = [one for one in reached if one.get("name") in sidecars]
    ready = sum(bool(one.get("started") and one.get("ready") and not _succeeded(one)) for one in beside)
    text, counted = first or _plain(status), reached
    if not first or any(_is_true(one, "Initialized") for one in status.get("conditions") or ()):
        mains = status.get("containerStatuses") or ()
        text, counted = _running(status, text), [*beside, *mains]
        ready += sum(map(_runs, mains))
    if metadata(obj).get("deletionTimestamp"):
        text = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    total = len(spec.get("containers") or ()) + len(sidecars)
    addresses = status.get("podIPs") or ()
    return [
        name_of(obj),
        f"{ready}/{total}",
        text,
        _restarts(counted, now),
        created(obj, now),
        (addresses[0].get("ip") if addresses else "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def _plain(status: Object) -> str:
    text: str = status.get("reason") or status.get("phase") or ""
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated":
            text = "SchedulingGated"
    return text


def _is_true(condition: Object, kind: str) -> bool:
    return condition.get("type") == kind and condition.get("status") == "True"


def _initializing(obj: Object, sidecars: set[Any]) -> tuple[str, list[Object]]:
    """The reason of the first incomplete init container, empty if all are complete; and the containers up to it."""
    total = len(at(obj, "spec", "initContainers") or ())
    reached: list[Object] = []
    for index, one in enumerate(at(obj, "status", "initContainerStatuses") or ()):
        reached.append(one)
        ended, reason = at(one, "state", "terminated"), at(one, "state", "waiting", "reason")
        if _succeeded(one) or (one.get("name") in sidecars and one.get("started")):
            continue
        if ended is not None:
            return f"Init:{ended.get('reason') or _ending(ended)}", reached
        return f"Init:{reason if reason and reason != 'PodInitializing' else f'{index}/{total}'}", reached
    return "", reached


def _succeeded(status: Object) -> bool:
    ended = at(status, "state", "terminated")
    return ended is not None and not ended.get("exitCode")


def _runs(status: Object) -> bool:
    """True if a container counts as ready: it is ready, runs, and waits for nothing."""
    state = status.get("state") or {}
    waits = bool(at(state, "waiting", "reason")) or state.get("terminated") is not None
    return bool(status.get("ready")) and state.get("running") is not None and not waits


def _ending(ended: Object) -> str:
    signal = ended.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{ended.get('exitCode') or 0}"


def _running(status: Object, text: str) -> str:
    runs = False
    for one in reversed(status.get("containerStatuses") or ()):
        waiting, ended = at(one, "state", "waiting"), at(one, "state", "terminated")
        if waiting is not None and waiting.get("reason"):
            text = waiting["reason"]
        elif ended is not None:
            text = ended.get("reason") or _ending(ended)
        elif _runs(one):
            runs = True
    if text == "Completed" and runs:
        return "Running" if any(_is_true(one, "Ready") for one in status.get("conditions") or ()) else "NotReady"
    return text


def _restarts(statuses: Sequence[Object], now: float) -> str:
    count = sum(one.get("restartCount") or 0 for one in statuses)
    ends = [at(one, "lastState", "terminated", "finishedAt") for one in statuses]
    last = max((time for time in ends if time), key=seconds, default=None)
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _gates(spec: Object, status: Object) -> str:
    gates = [one.get("conditionType") for one in spec.get("readinessGates") or ()]
    if not gates:
        return NONE
    states = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    return f"{sum(states.get(gate) == 'True' for gate in gates)}/{len(gates)}"
