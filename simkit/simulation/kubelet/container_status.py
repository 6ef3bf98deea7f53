"""The status of one container, brought up to the present.

Upstream: pkg/kubelet/kubelet_pods.go, pkg/kubelet/kuberuntime/kuberuntime_manager.go and
pkg/kubelet/images/image_manager.go, release 1.30.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from simkit.meta.clock import moment, timestamp
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.image_pulls import ImagePulls, Lacking, Told
from simkit.simulation.kubelet.probes import LIVENESS, READINESS, STARTUP, Outcome, Probes
from simkit.simulation.kubelet.process import Process

Status = Mapping[str, Any]
_FIRST_BACK_OFF: Final = 10.0
_LONGEST_BACK_OFF: Final = 300.0
_RESET_AFTER: Final = 600.0
KILLED: Final = 137
_CRASHES: Final = "CrashLoopBackOff"


@dataclass(slots=True)
class Progress:
    """The progress of a pod at one moment."""

    now: float
    due: float | None = None
    """The time of the next look."""

    def look_again(self, when: float | None) -> None:
        """Look again not later than at a moment."""
        if when is not None and (self.due is None or when < self.due):
            self.due = when


@dataclass(frozen=True, slots=True)
class PodEnvironment:
    """The behaviours and the maker of processes with which containers are started."""

    behaviours: Behaviours
    process: Callable[[Object, Mapping[str, Any], int, float], Process]
    """The process of a container: pod, container, number of restarts, start."""
    tell: Callable[[Object, Mapping[str, Any], Told], None]
    """Record an event about a container."""
    objection: Callable[[Object, Mapping[str, Any]], str]
    """A function that gives the reason why a container cannot be configured; empty if it can."""
    probes: Probes
    attempt: Callable[[Object, Mapping[str, Any], str], Outcome]
    """Try a probe of a container now."""
    post_start: Callable[[Object, Mapping[str, Any], int, float], None]
    """Run the hook after a start: pod, container, number of restarts, start."""
    pulls: ImagePulls
    resizes: bool = False
    """True if the release tells the resources that a container runs with, (from 1.33 on)."""


@dataclass(slots=True)
class ContainerRun:
    """One container of a pod, to be brought up to the present."""

    pod: Object
    container: Mapping[str, Any]
    known: Status
    policy: str
    """Always, OnFailure or Never."""
    progress: Progress
    environment: PodEnvironment
    killed: bool = False
    """True if its kubelet has ended it, which starts it again in the same breath, even if it ended well."""

    def advance(self, start: float | None) -> dict[str, Any]:
        """The status now. ``start`` is when it may start for the first time; None: not yet."""
        status = self._whole()
        if "terminated" in status["state"]:
            status = self._restarted(status) if self._restarts(status) else status
        elif "running" not in status["state"]:
            status = self._started_if_due(status, start)
        while "running" in status["state"]:
            status = self._running(status)
            if "terminated" not in status["state"] or not self._restarts(status):
                break
            if not self.killed:  # a kubelet writes the end that it has found, and then starts the container again
                self.progress.look_again(self.progress.now)
                break
            status = self._restarted(status)
        return status

    def _whole(self) -> dict[str, Any]:
        """The known status; what a dump left out of it is as in one that waits."""
        waiting = self._waiting("ContainerCreating")
        status = {**self.known, **{name: value for name, value in waiting.items() if name not in self.known}}
        if "running" in status["state"] and not status["state"]["running"].get("startedAt"):
            status["state"] = {"running": {"startedAt": timestamp(self.progress.now)}}
        return status

    def _waiting(self, reason: str, message: str = "") -> dict[str, Any]:
        state = {"reason": reason, **({"message": message} if message else {})}
        return {
            "name": self.container.get("name", ""),
            "image": self.container.get("image", ""),
            "imageID": "",
            "lastState": {},
            "ready": False,
            "restartCount": 0,
            "started": False,
            "state": {"waiting": state},
        }

    def _started_if_due(self, status: dict[str, Any], start: float | None) -> dict[str, Any]:
        if start is None:
            return {**status, "state": self._about_to_start}
        if at(status, "state", "waiting", "reason") == _CRASHES:
            start = _finished(status) + _back_off(status)
            if start > self.progress.now:
                return self._still_waiting(status, start)
        lacking = self.environment.pulls.lacking(self.pod, self.container, self.progress.now)
        if lacking is not None:
            return self._without_image(status, lacking)
        if start > self.progress.now:
            self.progress.look_again(start)
            return status
        objection = self.environment.objection(self.pod, self.container)
        if objection:
            self.progress.look_again(self.progress.now + _FIRST_BACK_OFF)
            self.environment.tell(self.pod, self.container, ("Failed", f"Error: {objection}", True))
            return {**status, "state": {"waiting": {"reason": "CreateContainerConfigError", "message": objection}}}
        restarts = status["restartCount"] + (1 if status["lastState"] else 0)
        return self._start(status, restarts)

    @property
    def _about_to_start(self) -> dict[str, Any]:
        """The state of a container that was not started yet."""
        reason = "PodInitializing" if self.pod.get("spec", {}).get("initContainers") else "ContainerCreating"
        return {"waiting": {"reason": reason}}

    def _without_image(self, status: dict[str, Any], lacking: Lacking) -> dict[str, Any]:
        waiting = {"reason": lacking.reason, "message": lacking.message}
        if lacking.due is not None or at(status, "state", "waiting") != waiting:
            for each in lacking.events:
                self.environment.tell(self.pod, self.container, each)
        self.progress.look_again(lacking.due)
        return {**status, "state": {"waiting": waiting}}

    def _start(self, status: dict[str, Any], restarts: int) -> dict[str, Any]:
        name, image = self.container.get("name", ""), self.container.get("image", "")
        tell = self.environment.tell
        for each in self.environment.pulls.events_of_start(self.container, restarts):
            tell(self.pod, self.container, each)
        tell(self.pod, self.container, ("Created", f"Created container {name}", False))
        tell(self.pod, self.container, ("Started", f"Started container {name}", False))
        now = timestamp(self.progress.now)
        if at(self.container, "lifecycle", "postStart"):
            self.environment.post_start(self.pod, self.container, restarts, self.progress.now)
        return {
            **status,
            "image": image,
            "imageID": image_id(image),
            "containerID": f"containerd://{_digest(metadata(self.pod).get('uid', ''), name, restarts)}",
            "restartCount": restarts,
            "ready": False,
            "started": False,
            "state": {"running": {"startedAt": now}},
        }

    def _running(self, status: dict[str, Any]) -> dict[str, Any]:
        now, written = self.progress.now, status["state"]["running"]["startedAt"]
        started = moment(written)
        begun = now if timestamp(now) == written else started  # a status tells whole seconds; a process runs no shorter
        process = self.environment.process(self.pod, self.container, status["restartCount"], begun)
        process.advance(now)
        status = self._resized(status)
        ready = has_started = False
        if process.ended is None:
            stopping = process.last is not None
            has_started = bool(status.get("started")) if stopping else self._probed(STARTUP, status, started, process)
            if has_started and process.ended is None:
                if not stopping:
                    self._probed(LIVENESS, status, started, process)
                ready = self._ready(started) and self._probed(READINESS, status, started, process)
        if process.ended is not None:
            self.killed = self.killed or process.last is not None
            return self._ended(status, *process.ended, process.fault)
        self.progress.look_again(process.next_time if process.next_time and process.next_time < 1e11 else None)
        return {**status, "ready": ready, "started": has_started}

    def _resized(self, status: dict[str, Any]) -> dict[str, Any]:
        """The status with the resources with which the container was started: nothing is resized in place."""
        if not self.environment.resizes or "resources" in status:
            return status
        given = self.container.get("resources") or {}
        return {**status, "resources": {field: given[field] for field in ("limits", "requests") if given.get(field)}}

    def _probed(self, kind: str, status: Status, started: float, process: Process) -> bool:
        """The result of a probe, tried now if it is due; the container is killed where that is what follows."""
        if not self.container.get(kind):
            return True
        probes, now = self.environment.probes, self.progress.now
        known = kind == LIVENESS or bool(status.get("ready" if kind == READINESS else "started"))
        due = probes.due(self.pod, self.container, kind, status["restartCount"], started, known=known)
        if due is not None and due <= now:
            outcome = self.environment.attempt(self.pod, self.container, kind)
            verdict = probes.take(self.pod, self.container, kind, outcome, now)
            due, what = verdict.due, kind.removesuffix("Probe")
            if verdict.told is not None:
                text = f"{what.capitalize()} probe failed: {verdict.told}"
                self.environment.tell(self.pod, self.container, ("Unhealthy", text, True))
            if verdict.gives_up and kind != READINESS:
                text = f"Container {self.container['name']} failed {what} probe, will be restarted"
                self.environment.tell(self.pod, self.container, ("Killing", text, False))
                process.terminate(now, now + _grace(self.pod, self.container[kind]))
        self.progress.look_again(due)
        return probes.passed(self.pod, self.container, kind)

    def _ready(self, started: float) -> bool:
        """True if a test lets the container be ready."""
        behaviours = self.environment.behaviours
        if behaviours.setting(self.pod, self.container, "ready") == "false":
            return False
        return self._passed(started + behaviours.duration(self.pod, self.container, "ready-after"))

    def _passed(self, when: float) -> bool:
        if when <= self.progress.now:
            return True
        self.progress.look_again(when)
        return False

    def _ended(self, status: dict[str, Any], when: float, code: int, fault: str = "") -> dict[str, Any]:
        ended = terminated_by_signal(status, when, code)
        if fault:
            ended["state"]["terminated"]["message"] = fault
            self.environment.tell(self.pod, self.container, ("Failed", f"Error: {fault}", True))
        return ended

    def _restarts(self, status: Status) -> bool:
        code = status["state"]["terminated"]["exitCode"]
        return self.policy == "Always" or (self.policy == "OnFailure" and (code != 0 or self.killed))

    def _restarted(self, status: dict[str, Any]) -> dict[str, Any]:
        """After its first end a container starts again at once, and after later ones it has to wait."""
        status = {**status, "lastState": {"terminated": status["state"]["terminated"]}}
        if status["restartCount"] == 0:
            return self._start(status, 1)
        pause = _back_off(status)
        due = _finished(status) + pause
        if due <= self.progress.now:
            return self._start(status, status["restartCount"] + 1)
        text = f"back-off {_spelled(pause)} restarting failed container={self.container['name']} pod={self._where}"
        return self._still_waiting({**status, "state": {"waiting": {"reason": _CRASHES, "message": text}}}, due)

    @property
    def _where(self) -> str:
        return f"{name_of(self.pod)}_{namespace_of(self.pod)}({metadata(self.pod).get('uid', '')})"

    def _still_waiting(self, status: dict[str, Any], due: float) -> dict[str, Any]:
        """A container in a pause between two starts; each look at it is told."""
        self.progress.look_again(due)
        text = f"Back-off restarting failed container {self.container['name']} in pod {self._where}"
        self.environment.tell(self.pod, self.container, ("BackOff", text, True))
        return status


def _grace(pod: Object, probe: Mapping[str, Any]) -> float:
    """The seconds that a container gets to stop when its probe has failed."""
    own = probe.get("terminationGracePeriodSeconds")
    return float(at(pod, "spec", "terminationGracePeriodSeconds") or 0) if own is None else float(own)


def _finished(status: Status) -> float:
    return moment(status["lastState"]["terminated"]["finishedAt"])


def _back_off(status: Status) -> float:
    """Seconds until a container that has ended starts again; one that ran for long starts the count anew."""
    terminated = status["lastState"]["terminated"]
    if moment(terminated["finishedAt"]) - moment(terminated["startedAt"]) >= _RESET_AFTER:
        return _FIRST_BACK_OFF
    return float(min(_FIRST_BACK_OFF * 2.0 ** min(status["restartCount"] - 1, 10), _LONGEST_BACK_OFF))


def _spelled(pause: float) -> str:
    minutes, rest = divmod(int(pause), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def terminated_by_signal(status: Status, now: float, code: int) -> dict[str, Any]:
    """The status of a container that was stopped from outside."""
    if "running" not in (status.get("state") or {}):
        return dict(status)
    ended = {
        "containerID": status.get("containerID", ""),
        "exitCode": code,
        "finishedAt": timestamp(now),
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": status["state"]["running"]["startedAt"],
    }
    return {**status, "ready": False, "started": False, "state": {"terminated": ended}}


@lru_cache(maxsize=1024)
def image_id(image: str) -> str:
    """The identity of an image: its name with a digest that is made of it."""
    name = image.partition("@")[0]
    short = name[: name.rindex(":")] if name.rfind(":") > name.rfind("/") else name
    return f"{short}@sha256:{_digest(image)}"


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()
