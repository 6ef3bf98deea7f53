"""Answers of simulated kubelets to log, exec, attach and portforward, and at their own port.

Upstream: pkg/kubelet/{kubelet,kubelet_pods}.go and pkg/kubelet/server, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.client.lister import uid_of
from simkit.client.resources import PODS
from simkit.meta.clock import Clock, moment
from simkit.meta.errors import StatusError, bad_request, unexplained
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.seams import PortHandler, RemoteProcess
from simkit.simulation.connections.kubelet_server import Finished, KubeletServer
from simkit.simulation.connections.remote_processes import AttachedProcess, ExecProcess
from simkit.simulation.connections.terminal import LogStream, Terminal, log_text
from simkit.simulation.kubelet.environment import TERMINAL, TERMINAL_VARIABLE
from simkit.simulation.kubelet.kubelets import Kubelets
from simkit.simulation.kubelet.ports import listener
from simkit.simulation.kubelet.process import Process, Step, completes
from simkit.simulation.kubelet.processes import program_of
from simkit.simulation.kubelet.shell import UnknownCommand, script_program
from simkit.simulation.shell.signals import EXIT

_FIELDS: Final = (
    ("initContainers", "initContainerStatuses"),
    ("containers", "containerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
)
_FIRST_PID: Final = 6
_NOT_STARTED: Final = 126
"""The exit code of a command that is not there."""
_LONGEST_RUN: Final = 60.0
"""Seconds of its own time that a command has which a kubelet runs to its end, the usual limit of a request."""
_MOST_WORK: Final = 1.0
"""Seconds that such a command may compute."""
_TOO_LONG: Final = "context deadline exceeded"


class KubeletConnections:
    """Connections to pods on simulated nodes."""

    def __init__(self, kubelets: Kubelets, clock: Clock) -> None:
        self._kubelets, self._clock = kubelets, clock
        self._last_pid = _FIRST_PID

    def reaches(self, node: str) -> bool:
        """True if a node is simulated, and its kubelet runs."""
        known = self._kubelets.nodes.get(node)
        return known is not None and known.alive

    def log(self, pod: Object, container: str, options: Mapping[str, Any]) -> bytes | LogStream:
        """The log of a container. Raises 400 for one that has not started, or had not before."""
        process = self._logged(pod, container, previous=bool(options.get("previous")))
        process.advance(self._clock.now())
        if options.get("follow"):
            return LogStream(process, options, self._clock.now())
        return log_text(process, options, self._clock.now())

    def _logged(self, pod: Object, name: str, *, previous: bool) -> Process:
        spec, status = _container(pod, name)
        restarts, state = status.get("restartCount", 0), status.get("state") or {}
        waits = "waiting" in state or not state
        if previous and not status.get("lastState"):
            raise bad_request(f'previous terminated container "{name}" in pod "{name_of(pod)}" not found')
        if waits and not status.get("lastState"):
            reason = at(state, "waiting", "reason") or "ContainerCreating"
            raise bad_request(f'container "{name}" in pod "{name_of(pod)}" is waiting to start: {reason}')
        if previous and not waits:
            restarts -= 1
        known = self._kubelets.runtime.processes.known(uid_of(pod), name, restarts)
        if known is not None:
            return known
        last = status.get("lastState") or {}
        ran = last if waits or previous else state
        started = at(ran, "running", "startedAt") or at(ran, "terminated", "startedAt") or ""
        when = moment(started) if started else self._clock.now()
        return self._kubelets.runtime.processes.of(
            pod, spec, restarts, when, lambda: self._kubelets.runtime.environment(pod, spec)
        )

    def command(
        self, pod: Object, container: str, command: Sequence[str] | None, *, stdin: bool, tty: bool
    ) -> RemoteProcess:
        """The process of an exec, or of an attach. Raises 500 for a container that does not run."""
        spec, process = self._running(pod, container)
        if command is None:
            key = Key(PODS, namespace_of(pod), name_of(pod))
            process.listen(lambda: self._kubelets.look_at(key) if process.ended is not None else None)
            attached = AttachedProcess(process, self._clock, once=bool(spec.get("stdinOnce")))
            return Terminal(attached) if tty else attached
        started, failure = self._exec(pod, spec, command, process, stdin=stdin, tty=tty)
        made = ExecProcess(started, self._clock, failure)
        return Terminal(made) if tty and stdin else made

    def _running(self, pod: Object, container: str) -> tuple[Mapping[str, Any], Process]:
        """A container that runs, and its process. Raises 500 for one that does not run."""
        spec, status = _container(pod, container)
        started = at(status, "state", "running", "startedAt")
        if not started:
            raise unexplained(f'container not found ("{container}")')
        return spec, self._kubelets.runtime.processes.of(
            pod,
            spec,
            status.get("restartCount", 0),
            moment(started),
            lambda: self._kubelets.runtime.environment(pod, spec),
        )

    def run(self, pod: Object, container: str, command: Sequence[str]) -> Finished:
        """Run a command to its end, for at most some of its own time. Raises 500 for a container that does not run."""
        spec, first = self._running(pod, container)
        made, failure = self._exec(pod, spec, command, first, stdin=False, tty=False)
        if failure:
            return Finished(b"", f"rpc error: code = Unknown desc = {failure}")
        made.advance(self._clock.now() + _LONGEST_RUN, within=_MOST_WORK)
        outputs = {
            stream: b"".join(each.data for each in made.printed if each.stream == stream)
            for stream in ("stdout", "stderr")
        }
        if made.ended is None:
            return Finished(b"", f"rpc error: code = DeadlineExceeded desc = {_TOO_LONG}")
        code, told = made.ended[1], outputs["stderr"].decode("utf-8", "replace")
        failure = f"command '{' '.join(command)}' exited with {code}: {told}" if code else ""
        return Finished(outputs["stdout"] + outputs["stderr"], failure)

    def _exec(
        self, pod: Object, spec: Mapping[str, Any], command: Sequence[str], first: Process, *, stdin: bool, tty: bool
    ) -> tuple[Process, str]:
        """The process of a command beside the first one of its container, and why it has not started, if so."""
        now, key = self._clock.now(), Key(PODS, namespace_of(pod), name_of(pod))

        def signal(name: str) -> bool:
            if name != EXIT and first.ended is None:
                first.signal(name, self._clock.now())
                self._kubelets.look_at(key)
            return first.ended is None or name != EXIT

        def leave(steps: Generator[Step, Any, Any]) -> None:
            first.keep(steps, process.latest)
            self._kubelets.look_at(key)

        self._last_pid += 1
        variables = dict(self._kubelets.runtime.environment(pod, spec))
        variables.pop(TERMINAL_VARIABLE, "")
        variables |= TERMINAL if tty else {}
        given = self._kubelets.runtime.processes.container(pod, spec, now, variables)
        given = replace(given, pid=self._last_pid, signal=signal, leave=leave)
        told = self._kubelets.behaviours.command(pod, spec, command[0])
        try:
            if told is not None:
                steps = told(given, command)
            else:
                steps = script_program(command, alone=True, programs=given.programs)(given)
        except UnknownCommand:
            missing = Process(completes(given), now)
            missing.kill(now, _NOT_STARTED)
            return missing, (
                "failed to exec in container: failed to start exec: OCI runtime exec failed: exec failed: unable to "
                f'start container process: exec: "{command[0]}": executable file not found in $PATH: unknown'
            )
        what = program_of(pod, str(spec.get("name", "")), command[0])
        process = Process(steps, now, takes_input=stdin, what=what)
        return process, ""

    def port(self, pod: Object, port: int) -> PortHandler:
        """The listener on a port. Raises 400 for an invalid number, and 500 where nothing listens."""
        if not 0 < port < 65536:
            raise StatusError(400, "BadRequest", f"port {port} is not a port")
        return listener(pod, port, self._kubelets.behaviours, self._kubelets.runtime.processes)

    def kubelet(self, node: Object, pods: Callable[[], Iterable[Object]]) -> PortHandler:
        """The kubelet of a node at its own port, among all pods of the cluster."""

        def own() -> list[Object]:
            return [pod for pod in pods() if at(pod, "spec", "nodeName") == name_of(node)]

        return KubeletServer(own, self.run)


def _container(pod: Object, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """A container and its status."""
    for field, told in _FIELDS:
        for spec in at(pod, "spec", field) or ():
            if spec.get("name") == name:
                statuses = at(pod, "status", told) or ()
                return spec, next((each for each in statuses if each.get("name") == name), {})
    return {"name": name}, {}
