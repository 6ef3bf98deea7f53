"""Connections to pods, nodes and services: checked, admitted, and refused where nothing is there to connect to.

The checks and their order are those of ``pkg/registry/core/pod/rest/{subresources,log}.go``, release 1.30; how the
connection itself fails is what kube-apiserver says when it cannot reach a node.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.client import BadStatusLine, HTTPException, HTTPResponse, RemoteDisconnected
from typing import Any, Final, cast
from urllib.parse import quote, urlencode, urlsplit

from simkit.client.resources import NODES, PODS, SERVICES
from simkit.engine.egress.policy import HOP_BY_HOP, UNQUOTED
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import is_true
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.subresources.connection_target import (
    CommandSession,
    PortSession,
    Session,
    Target,
    check_log_options,
    connection_options,
    container_of,
    kubelet_of,
    opened,
    proxied,
    stored,
)
from simkit.engine.pipeline.verbs.admission_binding import AdmissionBinding
from simkit.kinds.parts.validation.ip import address
from simkit.meta.errors import StatusError, bad_request, forbidden, unexplained
from simkit.meta.fielderror import quoted
from simkit.meta.go_number import parse_uint
from simkit.meta.message import DROPPED, Request, Response
from simkit.meta.names import GroupResource, GroupVersionKind, Key
from simkit.meta.objects import Object, at
from simkit.seams import PodConnections, PortHandler

# Connections of exec, attach and portforward that a client opens at a kubelet itself, through the proxy of its node.
# Follows ``pkg/kubelet/server/server.go`` and ``k8s.io/kubelet/pkg/cri/streaming/remotecommand/httpstream.go``, release
# 1.30. What the kubelet refuses is told as it tells it: in plain text, and not as a Status.

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
        return _refused(*((404, "pod not found") if kind == _PORTS else (500, f'container not found ("{parts[-1]}")')))
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


def _refused(status: int, text: str) -> Response:
    return Response(status, text.encode(), _TEXT)


# The exchange of a proxy connection with a pod: the request that the pod receives, and the answer that is passed on.
# Follows ``k8s.io/apimachinery/pkg/util/proxy/{upgradeaware,transport}.go`` and ``net/http/httputil``, release 1.30.

_NOT_SENT: Final = HOP_BY_HOP | {"authorization", "content-length", "host", "x-forwarded-for", "x-forwarded-uri"}
_USER_PREFIXES: Final = ("impersonate-", "x-remote-")
"""Prefixes of headers that name the user: those of the server, not of the pod."""
_NOT_PASSED_ON: Final = HOP_BY_HOP | {"content-length", "content-type", "date"}
_WITH_BODY: Final = ("POST", "PUT", "PATCH")


def exchange(handler: PortHandler, context: RequestContext, authority: str, *, secure: bool) -> Response:
    """The answer of a port of a pod to a request that is proxied to it.

    ``authority`` is the pod's address and port. Raises 503 where the port does not answer in HTTP, or is asked for TLS.

    Notes
    -----
    Links in pages stay as they are; kube-apiserver makes those that begin with ``/`` point to the proxy again.
    """
    path = _path(context)
    if not path and context.request.method in ("GET", "HEAD"):
        query = _query(context.request)
        return Response(
            301, content_type="", headers=[("Location", f"{quote(context.info.path, safe=UNQUOTED)}/{query}")]
        )
    if secure:
        raise unreachable("http: server gave HTTP response to HTTPS client")
    answer = handler(_sent(context, path or "/"))
    try:
        found = _read(answer, context.request.method)
        body = found.read()
    except RemoteDisconnected:
        raise unreachable("EOF") from None
    except BadStatusLine:
        line = answer.partition(b"\r\n")[0].decode("latin-1")
        raise unreachable(
            f"net/http: HTTP/1.x transport connection broken: malformed HTTP response {quoted(line)}"
        ) from None
    except HTTPException:
        return Response(DROPPED)
    headers = [
        (name, _location(context, authority, value) if name.lower() == "location" else value)
        for name, value in found.getheaders()
        if name.lower() not in _NOT_PASSED_ON
    ]
    return Response(found.status, body, found.getheader("content-type") or "", headers)


def unreachable(reason: str) -> StatusError:
    """The 503 for a request that found no answer."""
    return StatusError(503, "ServiceUnavailable", f"error trying to reach service: {reason}")


def _path(context: RequestContext) -> str:
    """The path at the pod; empty for a request that names no path, not even ``/``."""
    info = context.info
    ends = "/" if info.path.endswith("/") else ""
    return f"/{info.rest}{ends}" if info.rest else ends


def _query(request: Request) -> str:
    return f"?{urlencode(request.query, doseq=True)}" if request.query else ""


def _sent(context: RequestContext, path: str) -> bytes:
    """The bytes of the request that the pod receives."""
    request = context.request
    lines = [f"{request.method} {quote(path, safe=UNQUOTED)}{_query(request)} HTTP/1.1", *_headers(context)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + request.body


def _headers(context: RequestContext) -> Iterator[str]:
    request = context.request
    yield f"Host: {request.header('host')}"
    for name, values in request.headers.items():
        # Some servers take an underscore in the name of a header for a dash.
        if name not in _NOT_SENT and not name.replace("_", "-").startswith(_USER_PREFIXES):
            yield from (f"{name.title()}: {value}" for value in values)
    if request.body or request.method in _WITH_BODY:
        yield f"Content-Length: {len(request.body)}"
    if request.peer:
        yield f"X-Forwarded-For: {', '.join([*request.headers.get('x-forwarded-for', ()), request.peer])}"
    yield f"X-Forwarded-Uri: {quote(context.info.path, safe=UNQUOTED)}"


class _Received:
    """The bytes of an answer, as the connection that ``http.client`` reads from."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def _read(data: bytes, method: str) -> HTTPResponse:
    found = HTTPResponse(cast(Any, _Received(data)), method=method)
    found.begin()
    return found


def _location(context: RequestContext, authority: str, value: str) -> str:
    """A redirection through the proxy, for one to an absolute path of the same pod."""
    target, info = urlsplit(value), context.info
    if (target.netloc and target.netloc not in (authority, context.request.header("host"))) or target.path[:1] != "/":
        return value
    before = info.path.rstrip("/").removesuffix(f"/{info.rest}" if info.rest else "")
    path = target.path if target.path.startswith(before) else before + target.path
    return target._replace(scheme="", netloc="", path=path).geturl()


_OPTIONS_OF: Final = {"exec": "Exec", "attach": "Attach", "portforward": "PortForward", "proxy": "Proxy"}
"""The middle of the names of the kinds of options, such as PodExecOptions."""
_STREAMS: Final = ("exec", "attach", "portforward")
"""Connections that require an upgrade."""


def read_log(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The log of a pod: empty, with 204, for a pod that is on no node, and refused where nobody answers.

    Raises 400 and 422 for options that are none, 404 for a pod or node that is not there, 400 for a container that is
    none of the pod's, and 500 where nobody answers at the other end. Reading a log is no connection to admission.
    """
    info, request = context.info, context.request
    options = connection_options(request, "log")
    check_log_options(engine.behaviour, options, info.name)
    pod = stored(engine, PODS, info.namespace, info.name)
    container = container_of(pod, request.option("container"))
    node = at(pod, "spec", "nodeName")
    if not node:
        return Response(204, content_type="")
    kubelet = kubelet_of(engine, node)
    if engine.connections is not None and engine.connections.reaches(node):
        return _log_response(engine.connections.log(pod, container, {**options, **_flags(context)}))
    asked = _log_query(context, options)
    path = f"containerLogs/{info.namespace}/{info.name}/{container}{'?' if asked else ''}{asked}"
    raise unexplained(f'Get "https://{_joined(kubelet)}/{path}": {_no_way_to(engine, kubelet)}')


def _log_query(context: RequestContext, options: Mapping[str, Any]) -> str:
    """The query that the kubelet is asked, keys in order."""
    given = {name: value for name, value in options.items() if value is not None}
    return urlencode(sorted({**given, **dict.fromkeys(_flags(context), "true")}.items()))


def _flags(context: RequestContext) -> dict[str, bool]:
    query = context.request.query
    return {name: True for name in ("follow", "previous", "timestamps") if is_true(query, name)}


def _log_response(log: Any) -> Response:
    if isinstance(log, bytes):
        return Response(200, log, "text/plain")
    return Response(200, content_type="text/plain", stream=log)


def stream(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """An exec, attach or portforward: the response with which the connection changes its protocol.

    Raises what admission raises, 403 for a user who may not create connections, 404 for a pod or node that is not
    there, 400 for a container that is none of the pod's, for a pod that is on no node and for a request without an
    upgrade, and 500 where no node is reached.
    """
    info, container = context.info, ""
    _admit(engine, context, scope)
    if engine.behaviour.applies("connections-to-pods-need-create"):
        _require_create(engine, context)
    pod = stored(engine, PODS, info.namespace, info.name)
    if info.subresource != "portforward":
        container = container_of(pod, context.request.option("container"))
    node = at(pod, "spec", "nodeName")
    if not node:
        raise bad_request(f"pod {info.name} does not have a host assigned")
    kubelet = kubelet_of(engine, node)
    if not context.request.header("upgrade"):
        raise bad_request("Upgrade request required")
    if engine.connections is not None and engine.connections.reaches(node):
        return Response(101, upgrade=opened(engine.connections, context, pod, container))
    raise unexplained(f"error dialing backend: {_no_way_to(engine, kubelet)}")


def _require_create(engine: Engine, context: RequestContext) -> None:
    """Raises 403 for a user who may only ``get`` the subresource, as a WebSocket asks for it."""
    ask = context.info.asks(engine.behaviour, context.actor())
    if ask.verb == "create":
        return
    decision = engine.authorizer.authorize(replace(ask, verb="create"))
    if not decision.allowed:
        raise forbidden(PODS, ask.name, decision.reason)


def proxy(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The answer of a simulated kubelet, or of a pod on its node, itself or behind a service.

    Raises what admission raises, 404 for an object that is not there, 400 and 503 for one that has no address, and
    503 where no node is reached, nothing listens, or no HTTP is spoken.
    """
    info = context.info
    _admit(engine, context, scope)
    target = proxied(engine, scope.resource.group_resource, info.namespace, info.name)
    handler, opens = _listener(engine, target), bool(context.request.header("upgrade"))
    changed = upgraded(engine, context, target) if opens and handler is not None and target.is_kubelet else None
    if changed is not None:
        return changed
    if handler is None or opens:
        raise unreachable(_no_way_to(engine, target))
    return exchange(handler, context, _joined(target), secure=target.secure)


def _listener(engine: Engine, target: Target) -> PortHandler | None:
    """The listener at the port of a kubelet or a running pod; None where there is none, or nobody reaches it."""
    connections, pod = engine.connections, target.pod
    if connections is None or not connections.reaches(target.node):
        return None
    if target.is_kubelet:
        node = stored(engine, NODES, "", target.node)
        return connections.kubelet(node, lambda: (entry.object for entry in engine.store.scan(PODS)))
    if pod is None or at(pod, "status", "phase") != "Running":
        return None
    try:
        return connections.port(pod, target.number)
    except StatusError:
        return None


def _admit(engine: Engine, context: RequestContext, scope: RequestScope) -> None:
    """Ask admission about the options of the connection, which are the object of such a review."""
    parsed = connection_options(context.request, context.info.subresource)
    kind = GroupVersionKind("", "v1", f"{scope.resource.kind}{_OPTIONS_OF[context.info.subresource]}Options")
    given = {name: value for name, value in parsed.items() if value}
    options = {"kind": kind.kind, "apiVersion": kind.api_version, **_chosen(context), **given}
    admission = AdmissionBinding(engine, context, scope, dry_run=False, options={})
    engine.admission.validate(replace(admission.review("CONNECT", options, None), kind=kind))


def _chosen(context: RequestContext) -> dict[str, Any]:
    """The options in the path and query of a connection, without those that are off."""
    subresource, request = context.info.subresource, context.request
    if subresource == "proxy":
        return {"path": _path(context)} if _path(context) else {}
    if subresource == "portforward":
        return {}
    flags = [name for name in ("stdin", "stdout", "stderr", "tty") if is_true(request.query, name)]
    chosen: dict[str, Any] = dict.fromkeys(flags, True)
    if container := request.option("container"):
        chosen["container"] = container
    if subresource == "exec":
        chosen["command"] = list(request.query.get("command", ())) or None
    return chosen


def _no_way_to(engine: Engine, target: Target) -> str:
    """The error of Go's dialer: refused by this host and on nodes that run, where nothing listens, else no route."""
    found = address(target.host)
    if found is None:
        return f"dial tcp: lookup {target.host}: no such host"
    runs = engine.connections is not None and engine.connections.reaches(target.node)
    failure = "connection refused" if runs or found.is_loopback else "no route to host"
    return f"dial tcp {_joined(target)}: connect: {failure}"


def _joined(target: Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{host}:{target.port}" if target.port else host


CONNECTIONS: Final[Mapping[tuple[GroupResource, str], Callable[[Engine, RequestContext, RequestScope], Response]]] = {
    (PODS, "log"): read_log,
    **{(PODS, part): stream for part in _STREAMS},
    **{(resource, "proxy"): proxy for resource in (PODS, NODES, SERVICES)},
}
"""Subresources that are connections."""
