"""Connections of exec, attach and portforward that a client opens at a kubelet itself, through the proxy of its node.

Follows ``pkg/kubelet/server/server.go`` and ``k8s.io/kubelet/pkg/cri/streaming/remotecommand/httpstream.go``, release
1.30. What the kubelet refuses is told as it tells it: in plain text, and not as a Status.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.subresources.connection_session import CommandSession, PortSession, Session
from simkit.engine.pipeline.subresources.connection_target import PODS, Target
from simkit.engine.seams import PodConnections
from simkit.meta.errors import StatusError
from simkit.meta.go_number import parse_uint
from simkit.meta.message import Request, Response
from simkit.meta.names import Key
from simkit.meta.objects import Object, at

_COMMANDS: Final = ("exec", "attach")
_PORTS: Final = "portForward"
_TEXT: Final = "text/plain; charset=utf-8"


def upgraded(engine: Engine, context: RequestContext, target: Target) -> Response | None:
    """The response that changes the protocol, or the kubelet's refusal; None for paths that open no connection."""
    kind, *parts = context.info.rest.strip("/").split("/")
    least = 2 if kind == _PORTS else 3
    if engine.connections is None or kind not in (*_COMMANDS, _PORTS) or len(parts) not in (least, least + 1):
        return None
    entry = engine.store.get(Key(PODS, parts[0], parts[1]))
    pod = entry.object if entry is not None else None
    if pod is None or at(pod, "spec", "nodeName") != target.node:
        return _refused(404, "pod does not exist")
    if len(parts) > least and parts[2] != at(pod, "metadata", "uid"):
        return _refused(404, "pod not found") if kind == _PORTS else _refused(500, _no_container(parts[-1]))
    try:
        return Response(101, upgrade=_session(engine.connections, context.request, kind, pod, parts[-1]))
    except StatusError as error:
        return _refused(error.code, error.message)


def _session(connections: PodConnections, request: Request, kind: str, pod: Object, container: str) -> Session:
    if kind == _PORTS:
        return PortSession(lambda port: connections.port(pod, port), _ports(request))
    stdin, stdout, stderr, tty = (request.option(name) == "1" for name in ("input", "output", "error", "tty"))
    if not (stdin or stdout or stderr):
        raise StatusError(400, "BadRequest", "you must specify at least 1 of stdin, stdout, stderr")
    command = list(request.query.get("command", ())) if kind == "exec" else None
    if command == []:
        raise StatusError(500, "InternalError", "failed to exec in container: no command is given")
    process = connections.command(pod, container, command, stdin=stdin, tty=tty)
    return CommandSession(process, stdin, stdout, stderr and not tty, tty)


def _ports(request: Request) -> list[int]:
    try:
        return [parse_uint(text, bits=16) for given in request.query.get("port", ()) for text in given.split(",")]
    except ValueError as error:
        raise StatusError(400, "BadRequest", f"unable to parse port: {error}") from None


def _no_container(name: str) -> str:
    return f'container not found ("{name}")'


def _refused(status: int, text: str) -> Response:
    return Response(status, text.encode(), _TEXT)
