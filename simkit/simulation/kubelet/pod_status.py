"""The status of a pod on its node, brought up to the present.

Upstream: pkg/kubelet/kubelet_pods.go (``getPhase``, ``generateAPIPodStatus``) and pkg/kubelet/status/generate.go,
release 1.30.

Upstream: pkg/kubelet/active_deadline.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.logic.workloads.pods import has_ended
from simkit.logic.workloads.status_conditions import find, is_true
from simkit.meta.clock import moment, timestamp
from simkit.meta.objects import Object, at, metadata
from simkit.simulation.kubelet.container_status import (
    KILLED,
    ContainerRun,
    PodEnvironment,
    Progress,
    Status,
    terminated_by_signal,
)

_STATUSES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_DEADLINE: Final = "Pod was active on the node longer than the specified deadline"


@dataclass(frozen=True, slots=True)
class PodNetwork:
    """The node and addresses of a pod."""

    host: str
    """The address of the node."""
    address: str
    """The address of the pod."""
    network_condition: bool = True
    """True if the release has the condition PodReadyToStartContainers."""


def updated_status(pod: Object, network: PodNetwork, progress: Progress, environment: PodEnvironment) -> dict[str, Any]:
    """The status of a pod now. A pod that has ended keeps its own."""
    status = dict(pod.get("status") or {})
    if has_ended(pod):
        return status
    started = moment(status["startTime"]) if status.get("startTime") else progress.now
    over = _deadline_passed(pod, started, progress)
    if over:
        return _given_up(pod, progress.now)
    spec = pod.get("spec") or {}
    containers = _Containers(pod, spec, progress, environment)
    delay = max(
        (environment.behaviours.duration(pod, each, "start-after") for each in spec.get("containers") or ()),
        default=0.0,
    )
    init, ready_to_run = containers.init(started + delay)
    main = containers.main(started + delay if ready_to_run else None)
    ephemeral = containers.ephemeral(started + delay if ready_to_run else None)
    phase = _phase(spec, init, main)
    if phase in ("Succeeded", "Failed"):
        init = [terminated_by_signal(each, progress.now, 0) for each in init]
    return {
        **status,
        "phase": phase,
        "conditions": conditions(pod, phase, init, main, network, progress.now),
        "hostIP": network.host,
        "hostIPs": [{"ip": network.host}],
        "podIP": network.address,
        "podIPs": [{"ip": network.address}],
        "startTime": timestamp(started),
        **({"initContainerStatuses": init} if init else {}),
        "containerStatuses": main,
        **({"ephemeralContainerStatuses": ephemeral} if ephemeral else {}),
    }


def _deadline_passed(pod: Object, started: float, progress: Progress) -> bool:
    deadline = at(pod, "spec", "activeDeadlineSeconds")
    if deadline is None:
        return False
    progress.look_again(started + deadline)
    return started + float(deadline) <= progress.now


def _given_up(pod: Object, now: float) -> dict[str, Any]:
    """The status of a pod whose kubelet has stopped it for good, since it has run for too long."""
    status = pod.get("status") or {}
    return {
        **status,
        **_stopped(status, now, {}, KILLED),
        "phase": "Failed",
        "reason": "DeadlineExceeded",
        "message": _DEADLINE,
        "conditions": _unready(status.get("conditions") or (), now),
    }


def _stopped(status: Status, now: float, codes: Mapping[str, int], code: int) -> dict[str, Any]:
    """The statuses of containers after their end: exit codes by name, and that of all others."""
    return {
        field: [terminated_by_signal(each, now, codes.get(each["name"], code)) for each in status[field]]
        for field in _STATUSES
        if status.get(field)
    }


def _unready(given: Sequence[Mapping[str, Any]], now: float) -> list[dict[str, Any]]:
    return [
        {**each, "status": "False", "reason": "PodFailed", "lastTransitionTime": timestamp(now)}
        if each.get("type") in ("Ready", "ContainersReady") and each.get("status") == "True"
        else dict(each)
        for each in given
    ]


class _Containers:
    """The containers of one pod."""

    def __init__(self, pod: Object, spec: Mapping[str, Any], progress: Progress, environment: PodEnvironment) -> None:
        self._pod, self._spec, self._progress, self._environment = pod, spec, progress, environment
        self._policy = spec.get("restartPolicy") or "Always"

    def init(self, start: float) -> tuple[list[dict[str, Any]], bool]:
        """The statuses of init containers, and whether the others may run; each waits for those before it."""
        known, found, go_on = self._known("initContainerStatuses"), [], True
        for container in self._spec.get("initContainers") or ():
            sidecar = container.get("restartPolicy") == "Always"
            policy = "Always" if sidecar else "Never" if self._policy == "Never" else "OnFailure"
            status = self._advanced(container, known, policy, start if go_on else None)
            found.append(status)
            if sidecar:
                go_on = go_on and bool(status.get("started"))
            else:
                done = at(status, "state", "terminated", "exitCode") == 0
                status["ready"] = done
                go_on = go_on and done
        return found, go_on

    def main(self, start: float | None) -> list[dict[str, Any]]:
        """The statuses of the containers."""
        known = self._known("containerStatuses")
        if not known and at(self._pod, "status", "phase") == "Running":
            known = {each["name"]: self._unreported(each) for each in self._spec.get("containers") or ()}
        return [self._advanced(each, known, self._policy, start) for each in self._spec.get("containers") or ()]

    def ephemeral(self, start: float | None) -> list[dict[str, Any]]:
        """The statuses of ephemeral containers, which are never ready and never start again."""
        known, found = self._known("ephemeralContainerStatuses"), []
        for container in self._spec.get("ephemeralContainers") or ():
            status = self._advanced(container, known, "Never", start)
            found.append({**status, "ready": False})
        return found

    def _unreported(self, container: Mapping[str, Any]) -> Status:
        """The status of a container of a running pod that has none, as pods of shortened dumps: it runs long since."""
        since = at(self._pod, "status", "startTime") or metadata(self._pod).get("creationTimestamp")
        started = since or timestamp(self._progress.now)
        return {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": "",
            "lastState": {},
            "ready": True,
            "restartCount": 0,
            "started": True,
            "state": {"running": {"startedAt": started}},
        }

    def _known(self, field: str) -> dict[str, Status]:
        return {each["name"]: each for each in at(self._pod, "status", field) or () if "name" in each}

    def _advanced(
        self, container: Mapping[str, Any], known: Mapping[str, Status], policy: str, start: float | None
    ) -> dict[str, Any]:
        own = known.get(container["name"], {})
        return ContainerRun(self._pod, container, own, policy, self._progress, self._environment).advance(start)


def _phase(spec: Mapping[str, Any], init: Sequence[Status], main: Sequence[Status]) -> str:
    policy = spec.get("restartPolicy") or "Always"
    sidecars = _sidecars(spec)
    for each in init:
        code = at(each, "state", "terminated", "exitCode")
        if each["name"] in sidecars:
            ended_before = at(each, "state", "terminated") or each.get("lastState")
            if not each.get("started") and not ended_before:
                return "Pending"
        elif code is None or (code != 0 and policy != "Never"):
            return "Pending"
        elif code != 0:
            return "Failed"
    codes = [at(each, "state", "terminated", "exitCode") for each in main]
    if any(at(each, "state", "waiting") is not None and not each.get("lastState") for each in main):
        return "Pending"
    if policy == "Always" or any(code is None for code in codes):
        return "Running"
    if all(code == 0 for code in codes):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _sidecars(spec: Mapping[str, Any]) -> set[str]:
    return {each["name"] for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"}


def conditions(
    pod: Object, phase: str, init: Sequence[Status], main: Sequence[Status], network: PodNetwork, now: float
) -> list[dict[str, Any]]:
    """The conditions that a kubelet keeps, then those of others."""
    wanted = [_initialized(pod, phase, init), *_readiness(pod, phase, init, main)]
    if network.network_condition:
        wanted.insert(0, ("PodReadyToStartContainers", phase not in ("Succeeded", "Failed"), "", ""))
    known = at(pod, "status", "conditions") or ()
    made = [_condition(known, *each, now) for each in wanted]
    kinds = {each["type"] for each in made}
    return [*made, *(dict(each) for each in known if each.get("type") not in kinds)]


Wanted = tuple[str, bool, str, str]


def _initialized(pod: Object, phase: str, init: Sequence[Status]) -> Wanted:
    if phase in ("Succeeded",):
        return "Initialized", True, "PodCompleted", ""
    sidecars = _sidecars(pod.get("spec") or {})
    left = [
        each["name"]
        for each in init
        if not (each.get("started") if each["name"] in sidecars else at(each, "state", "terminated", "exitCode") == 0)
    ]
    if left:
        text = f"containers with incomplete status: [{' '.join(left)}]"
        return "Initialized", False, "ContainersNotInitialized", text
    return "Initialized", True, "", ""


def _readiness(pod: Object, phase: str, init: Sequence[Status], main: Sequence[Status]) -> list[Wanted]:
    if phase in ("Succeeded", "Failed"):
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        return [("Ready", False, reason, ""), ("ContainersReady", False, reason, "")]
    sidecars = _sidecars(pod.get("spec") or {})
    watched = [each for each in init if each["name"] in sidecars] + list(main)
    unready = [each["name"] for each in watched if not each.get("ready")]
    if unready:
        text = f"containers with unready status: [{' '.join(unready)}]"
        return [("Ready", False, "ContainersNotReady", text), ("ContainersReady", False, "ContainersNotReady", text)]
    told = at(pod, "status", "conditions")
    gates = [each.get("conditionType", "") for each in at(pod, "spec", "readinessGates") or ()]
    closed = [_closed(told, gate) for gate in gates if not is_true(told, gate)]
    if closed:
        return [("Ready", False, "ReadinessGatesNotReady", ", ".join(closed)), ("ContainersReady", True, "", "")]
    return [("Ready", True, "", ""), ("ContainersReady", True, "", "")]


def _closed(told: Sequence[Mapping[str, Any]] | None, gate: str) -> str:
    present = find(told, gate) is not None
    text = f'the status of pod readiness gate "{gate}" is not "True", but {"False" if present else ""}'
    return text if present else f'corresponding condition of pod readiness gate "{gate}" does not exist.'


def _condition(
    known: Sequence[Mapping[str, Any]], kind: str, holds: bool, reason: str, message: str, now: float
) -> dict[str, Any]:
    before, status = find(known, kind) or {}, "True" if holds else "False"
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    made = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": since or timestamp(now)}
    return made | ({"reason": reason} if reason else {}) | ({"message": message} if message else {})


def stopped_status(pod: Object, now: float, codes: Mapping[str, int], code: int) -> dict[str, Any]:
    """The status of a pod whose containers were stopped because it is being deleted.

    Parameters
    ----------
    codes, code
        Exit codes of containers by name, and that of all others.
    """
    status = dict(pod.get("status") or {})
    if has_ended(pod):
        return status
    status |= _stopped(status, now, codes, code)
    ended_with = [at(each, "state", "terminated", "exitCode") for each in status.get("containerStatuses") or ()]
    ended = "Succeeded" if ended_with and all(each == 0 for each in ended_with) else "Failed"
    told = _readiness(pod, ended, (), ())
    known = status.get("conditions") or ()
    made = {each[0]: _condition(known, *each, now) for each in told}
    status["conditions"] = [made.get(each.get("type", ""), dict(each)) for each in known]
    return {**status, "phase": ended}


def grace_ends(pod: Object) -> float:
    """The end of the grace period of a pod that is being deleted."""
    return moment(str(metadata(pod)["deletionTimestamp"]))
