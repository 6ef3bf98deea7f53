"""The session of a connection to a pod: a process, or ports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.subresources.connection_options import requested_ports
from simkit.engine.seams import PodConnections, PortHandler, RemoteProcess
from simkit.meta.errors import bad_request
from simkit.meta.message import Request
from simkit.meta.objects import Object


@dataclass(frozen=True, slots=True)
class CommandSession:
    """An exec or attach: the process, and which of its streams the client wants."""

    process: RemoteProcess
    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


@dataclass(frozen=True, slots=True)
class PortSession:
    """A portforward: what listens on each port, and the ports that the request names itself."""

    handler: Callable[[int], PortHandler]
    ports: Sequence[int]


Session = CommandSession | PortSession


def opened(connections: PodConnections, context: RequestContext, pod: Object, container: str) -> Session:
    """The session that a request opens. Raises 400 for one that asks for no stream, and what the pod's end raises."""
    info, request = context.info, context.request
    if info.subresource == "portforward":
        return PortSession(lambda port: connections.port(pod, port), requested_ports(request))
    stdin, stdout, stderr, tty = (_wanted(request, name) for name in _STREAMS)
    if not (stdin or stdout or stderr):
        raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
    command = list(request.query.get("command", ())) if info.subresource == "exec" else None
    if command == []:
        raise bad_request("you must specify a command")
    process = connections.command(pod, container, command, stdin=stdin, tty=tty)
    return CommandSession(process, stdin, stdout, stderr and not tty, tty)


_STREAMS = ("stdin", "stdout", "stderr", "tty")


def _wanted(request: Request, name: str) -> bool:
    """True if a stream is asked for; outputs are unless the request says no, as the defaults of the options have it."""
    given: Any = request.query.get(name)
    if not given:
        return name in ("stdout", "stderr")
    return str(given[0]).lower() not in ("false", "0", "")
