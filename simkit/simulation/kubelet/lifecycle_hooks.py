"""Lifecycle hooks of containers, and the time that containers take to stop.

Upstream: pkg/kubelet/lifecycle/handlers.go and pkg/kubelet/kuberuntime/kuberuntime_container.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simkit.engine.controllers.lister import uid_of
from simkit.meta.objects import Object, at, metadata
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.container_commands import ContainerCommands
from simkit.simulation.kubelet.pod_status import grace_ends

_LONGEST: Final = 3600.0
"""The most seconds of a hook after a start."""
Send = Callable[[Object, Mapping[str, Any], Mapping[str, Any]], bool]
Tell = Callable[[str, str], None]
"""Records a warning: the name of a container, and the reason."""


class LifecycleHooks:
    """Runs hooks. Commands that are not known succeed at once, as do requests to a port of which nothing is known.

    Parameters
    ----------
    send
        Sends a request over HTTP to a container; gives back whether it was answered.
    """

    def __init__(self, behaviours: Behaviours, commands: ContainerCommands, send: Send) -> None:
        self._behaviours, self._commands, self._send = behaviours, commands, send
        self._stops: dict[str, float] = {}
        """The seconds that each pod that is being deleted takes to stop."""

    def post_start(self, pod: Object, container: Mapping[str, Any], now: float) -> bool:
        """Run the hook after a start; gives back whether it succeeded."""
        return self._run(pod, container, "postStart", now, _LONGEST)[1]

    def stopping(self, pod: Object, now: float, tell: Tell) -> tuple[float, int]:
        """The time at which the containers of a pod that is being deleted have stopped, and their exit code."""
        grace, last = float(metadata(pod).get("deletionGracePeriodSeconds") or 0), grace_ends(pod)
        uid = uid_of(pod)
        if uid not in self._stops:
            self._stops[uid] = max(
                (self._stop_seconds(pod, each, now, grace, tell) for each in at(pod, "spec", "containers") or ()),
                default=0.0,
            )
        taken = self._stops[uid]
        return (last, 137) if taken > grace else (last - grace + taken, 0)

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
