"""Commands in containers beside their program: those of exec, of lifecycle hooks and of probes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from simkit.client.lister import uid_of
from simkit.meta.errors import StatusError
from simkit.meta.objects import Object, at, metadata
from simkit.seams import PortHandler
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.images import WEB_SERVERS, image_name
from simkit.simulation.kubelet.pod_status import grace_ends
from simkit.simulation.kubelet.probes import LIVENESS, Outcome
from simkit.simulation.kubelet.process import KILLED, Process, completes, forever
from simkit.simulation.kubelet.processes import Processes, program_of
from simkit.simulation.kubelet.shell import UnknownCommand, script_program

# Commands in containers that run to their end at once: those of probes and of lifecycle hooks

Environment = Callable[[Object, Mapping[str, Any]], Mapping[str, str]]
"""The variables of a container."""


class Ran(NamedTuple):
    """The end of a command."""

    code: int | None
    """The exit code; None if it did not end in time."""
    output: str
    seconds: float
    """The time that it took."""


class ContainerCommands:
    """Runs commands in containers.

    A command is run if a test provides it. It is also run if the built-in shell knows it, and the program of its
    container too: of the files and servers of any other program nothing is known.
    """

    def __init__(self, behaviours: Behaviours, processes: Processes, environment: Environment) -> None:
        self._behaviours, self._processes, self._environment = behaviours, processes, environment

    def run(
        self, pod: Object, container: Mapping[str, Any], command: Sequence[str], now: float, limit: float
    ) -> Ran | None:
        """Run a command for at most some seconds of its own time. None where its result cannot be known."""
        given = self._processes.container(pod, container, now, {})
        told = self._behaviours.command(pod, container, command[0]) if command else None
        if told is None and self._behaviours.program(given) in (completes, forever):
            return None
        try:
            program = (
                (lambda each: told(each, command))
                if told is not None
                else script_program(command, programs=given.programs)
            )
        except UnknownCommand:
            return None
        what = program_of(pod, str(container.get("name", "")), command[0] if command else "sh")
        process = Process(program(replace(given, environment=self._environment(pod, container))), now, what=what)
        process.advance(now + limit)
        output = b"".join(each.data for each in process.printed).decode("utf-8", "replace")
        if process.ended is None:
            return Ran(None, output, limit)
        ended, code = process.ended
        return Ran(code, output, ended - now)


# Lifecycle hooks of containers, and the time that containers take to stop.
# Upstream: pkg/kubelet/lifecycle/handlers.go and pkg/kubelet/kuberuntime/kuberuntime_container.go, release 1.30.

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


# One try of a probe: a command in the container, a request over HTTP, or a connection.
# Upstream: pkg/kubelet/prober/prober.go and pkg/probe, release 1.30.

_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3})")
_PASSED: Final = Outcome(True, constant=True)
Dial = Callable[[Object, int], PortHandler]
"""Connects to a port of a pod. Raises StatusError where nothing listens."""


class ProbeAttempts:
    """Tries probes. What nothing is known of passes."""

    def __init__(self, behaviours: Behaviours, commands: ContainerCommands, dial: Dial) -> None:
        self._behaviours, self._commands, self._dial = behaviours, commands, dial

    def __call__(self, pod: Object, container: Mapping[str, Any], kind: str, address: str, now: float) -> Outcome:
        """Try a probe; ``address`` is that of the pod."""
        if kind == LIVENESS and self._behaviours.setting(pod, container, "live") == "false":
            return Outcome(False)
        probe = container[kind]
        if "exec" in probe:
            return self._command(pod, container, probe["exec"].get("command") or (), probe, now)
        handler = probe.get("httpGet") or probe.get("tcpSocket") or {}
        port = self._port(pod, container, handler)
        if port is None:
            return _PASSED
        return self._connect(pod, port, address, handler if "httpGet" in probe else None)

    def reaches(self, pod: Object, container: Mapping[str, Any], request: Mapping[str, Any], address: str) -> bool:
        """Send the request of a hook; gives back whether somebody answered it, whatever the answer is."""
        port = self._port(pod, container, request)
        try:
            return port is None or bool(self._dial(pod, port)(_get(request, f"{address}:{port}")))
        except StatusError:
            return False

    def _port(self, pod: Object, container: Mapping[str, Any], handler: Mapping[str, Any]) -> int | None:
        """The port of a request, if it is known what listens there."""
        port = _number(container, handler.get("port"))
        if port is None or handler.get("host"):
            return None
        served = image_name(container.get("image", "")) in WEB_SERVERS and not _configured(container)
        return port if served or self._behaviours.port(pod, port) is not None else None

    def _command(
        self, pod: Object, container: Mapping[str, Any], command: Sequence[str], probe: Mapping[str, Any], now: float
    ) -> Outcome:
        ran = self._commands.run(pod, container, command, now, float(probe.get("timeoutSeconds") or 1))
        if ran is None:
            return _PASSED
        if ran.code is None:
            return Outcome(False, f'command "{" ".join(command)}" timed out')
        return Outcome(ran.code == 0, ran.output)

    def _connect(self, pod: Object, port: int, address: str, request: Mapping[str, Any] | None) -> Outcome:
        where = f"{address}:{port}"
        path = _path(request or {})
        scheme = str((request or {}).get("scheme") or "HTTP").lower()
        before = f'Get "{scheme}://{where}{path}": ' if request is not None else ""
        try:
            answer = self._dial(pod, port)
        except StatusError:
            return Outcome(False, f"{before}dial tcp {where}: connect: connection refused")
        if request is None or scheme == "https":
            return Outcome(True)
        found = _STATUS.match(answer(_get(request, where)))
        if found is None:
            return Outcome(False, f"{before}EOF")
        code = int(found[1])
        passed = 200 <= code < 400
        return Outcome(passed, "" if passed else f"HTTP probe failed with statuscode: {code}")


def _path(request: Mapping[str, Any]) -> str:
    return "/" + str(request.get("path") or "/").lstrip("/")


def _get(request: Mapping[str, Any], where: str) -> bytes:
    """The text of a request over HTTP."""
    headers = "".join(f"{each.get('name')}: {each.get('value')}\r\n" for each in request.get("httpHeaders") or ())
    host = "" if "host:" in headers.lower() else f"Host: {where}\r\n"
    return f"GET {_path(request)} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n".encode()


def _configured(container: Mapping[str, Any]) -> bool:
    """True if a web server may serve something else than its files."""
    paths = (str(each.get("mountPath", "")) for each in container.get("volumeMounts") or ())
    return bool(container.get("command")) or any("nginx" in path or "/conf" in path for path in paths)


def _number(container: Mapping[str, Any], port: object) -> int | None:
    """The number of a port that a probe names."""
    if isinstance(port, int):
        return port
    named = (each for each in at(container, "ports") or () if each.get("name") == port)
    return next(
        (each["containerPort"] for each in named), int(port) if isinstance(port, str) and port.isdigit() else None
    )
