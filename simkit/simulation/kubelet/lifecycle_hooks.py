"""Lifecycle hooks of containers, and the time that containers take to stop.

Upstream: pkg/kubelet/lifecycle/handlers.go and pkg/kubelet/kuberuntime/kuberuntime_container.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.engine.controllers.lister import uid_of
from simkit.meta.objects import Object, at, metadata
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.container_commands import ContainerCommands
from simkit.simulation.kubelet.pod_status import grace_ends
from simkit.simulation.kubelet.process import KILLED, Process
from simkit.simulation.kubelet.processes import Processes

_LONGEST: Final = 3600.0
"""The most seconds of a hook after a start."""
Send = Callable[[Object, Mapping[str, Any], Mapping[str, Any]], bool]
Tell = Callable[[str, str], None]
"""Records a warning: the name of a container, and the reason."""


class Stopping(NamedTuple):
    """The end of the containers of a pod: when it is to be looked at again, and exit codes."""

    due: float
    """The time at which they have ended, as far as is known now."""
    codes: Mapping[str, int]
    """Exit codes of containers by name."""
    code: int
    """The exit code of all others."""


class LifecycleHooks:
    """Runs hooks. Commands that are not known succeed at once, as do requests to a port of which nothing is known.

    Parameters
    ----------
    send
        Sends a request over HTTP to a container; gives back whether it was answered.
    """

    def __init__(self, behaviours: Behaviours, commands: ContainerCommands, processes: Processes, send: Send) -> None:
        self._behaviours, self._commands, self._processes, self._send = behaviours, commands, processes, send
        self._stops: dict[str, float] = {}
        """The seconds that each pod that is being deleted takes to stop."""
        self._told = set[str]()
        """The pods whose programs were told to end."""

    def post_start(self, pod: Object, container: Mapping[str, Any], now: float) -> bool:
        """Run the hook after a start; gives back whether it succeeded."""
        return self._run(pod, container, "postStart", now, _LONGEST)[1]

    def is_stopping(self, pod: Object) -> bool:
        """True if the containers of a pod are being stopped already."""
        return uid_of(pod) in self._stops

    def stopping(self, pod: Object, now: float, tell: Tell) -> Stopping:
        """The state of a pod that is being deleted: the hooks before the end run, then ``TERM`` comes to its programs.

        Scripts with a trap for it go on, and end when they like; other programs end at once and well. Whatever runs at
        the end of the grace period is killed.
        """
        grace, last = float(metadata(pod).get("deletionGracePeriodSeconds") or 0), grace_ends(pod)
        uid, containers = uid_of(pod), at(pod, "spec", "containers") or ()
        if uid not in self._stops:
            self._stops[uid] = max(
                (self._stop_seconds(pod, each, now, grace, tell) for each in containers), default=0.0
            )
        begins = last - grace + self._stops[uid]
        if self._stops[uid] > grace:
            return Stopping(last, {}, KILLED)
        if now < begins:
            return Stopping(begins, {}, 0)
        running = {
            name: process for name, process in self._running(pod) if not _heeded(process, now, uid in self._told)
        }
        self._told.add(uid)
        left = [process.next_time for process in running.values() if process.ended is None]
        if left:
            return Stopping(min([last, *(each for each in left if each is not None)]), {}, KILLED)
        return Stopping(begins, {name: each.ended[1] for name, each in running.items() if each.ended is not None}, 0)

    def _running(self, pod: Object) -> Iterator[tuple[str, Process]]:
        for status in at(pod, "status", "containerStatuses") or ():
            name = status.get("name", "")
            found = self._processes.known(uid_of(pod), name, status.get("restartCount", 0))
            if found is not None:
                yield name, found

    def _stop_seconds(self, pod: Object, container: Mapping[str, Any], now: float, grace: float, tell: Tell) -> float:
        taken = self._behaviours.duration(pod, container, "stop-after")
        if at(pod, "status", "phase") != "Running":
            return taken
        hook, succeeded = self._run(pod, container, "preStop", now, grace)
        if not succeeded:
            tell(str(container.get("name", "")), "FailedPreStopHook")
        return taken + hook

    def _run(
        self, pod: Object, container: Mapping[str, Any], name: str, now: float, limit: float
    ) -> tuple[float, bool]:
        """The seconds that a hook took, and whether it succeeded."""
        hook = at(container, "lifecycle", name) or {}
        if "sleep" in hook:
            return float(hook["sleep"].get("seconds") or 0), True
        if "httpGet" in hook:
            return 0.0, self._send(pod, container, hook["httpGet"])
        command = at(hook, "exec", "command")
        ran = self._commands.run(pod, container, command, now, limit) if command else None
        return (0.0, True) if ran is None else (ran.seconds, ran.code in (0, None))

    def forget(self, pod: Object) -> None:
        """Forget a pod that is gone."""
        self._stops.pop(uid_of(pod), None)
        self._told.discard(uid_of(pod))


def _heeded(process: Process, now: float, told: bool) -> bool:
    """True for a program that ends because nobody told it what to do at ``TERM``."""
    if not told:
        process.signal("TERM", now)
    process.advance(now)
    return process.gave_in
