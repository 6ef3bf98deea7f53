"""What the table of pods shows: how far each pod is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.cells import NONE, age, created, seconds
from simkit.meta.objects import Object, at, metadata, name_of


def pod_row(obj: Object, now: float) -> Sequence[Any]:
    """The cells of a pod's row."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    sidecars = {one.get("name") for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    first = _initializing(obj, sidecars)
    initialized = any(_is_true(one, "Initialized") for one in status.get("conditions") or ())
    text = first if first and not initialized else _running(status, _plain(status))
    if metadata(obj).get("deletionTimestamp"):
        text = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    total = len(spec.get("containers") or ()) + len(sidecars)
    inits = [one for one in status.get("initContainerStatuses") or () if one.get("name") in sidecars]
    mains = status.get("containerStatuses") or ()
    ready = sum(bool(one.get("ready") and at(one, "state", "running") is not None) for one in mains)
    ready += sum(bool(one.get("started") and one.get("ready")) for one in inits)
    counted = status.get("initContainerStatuses") or () if first and not initialized else (*inits, *mains)
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


def _initializing(obj: Object, sidecars: set[Any]) -> str:
    """What the first container that must still end says, empty once all have."""
    total = len(at(obj, "spec", "initContainers") or ())
    for index, one in enumerate(at(obj, "status", "initContainerStatuses") or ()):
        ended, waiting = at(one, "state", "terminated"), at(one, "state", "waiting")
        if ended is not None and not ended.get("exitCode"):
            continue
        if one.get("name") in sidecars and one.get("started"):
            continue
        if ended is not None:
            return f"Init:{ended.get('reason') or _ending(ended)}"
        reason = (waiting or {}).get("reason")
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{index}/{total}"
    return ""


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
        elif one.get("ready") and at(one, "state", "running") is not None:
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
