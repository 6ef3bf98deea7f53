"""Connections to pods, nodes and services: checked, admitted, and refused where nothing is there to connect to.

The checks and their order are those of ``pkg/registry/core/pod/rest/{subresources,log}.go``, release 1.30; how the
connection itself fails is what kube-apiserver says when it cannot reach a node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.subresources.connection_options import check_log_options, connection_options
from simkit.engine.pipeline.subresources.connection_session import opened
from simkit.engine.pipeline.subresources.connection_target import (
    NODES,
    PODS,
    SERVICES,
    Target,
    container_of,
    kubelet_of,
    proxied,
    stored,
)
from simkit.engine.pipeline.subresources.kubelet_streams import upgraded
from simkit.engine.pipeline.subresources.proxied_exchange import exchange, unreachable
from simkit.engine.pipeline.verbs.admission_binding import AdmissionBinding
from simkit.engine.seams import PortHandler
from simkit.kinds.parts.validation.ip import address
from simkit.meta.behaviour import applies
from simkit.meta.errors import StatusError, bad_request, forbidden, unexplained
from simkit.meta.message import Response
from simkit.meta.names import GroupResource
from simkit.meta.objects import at

_STREAMS: Final = ("exec", "attach", "portforward")
"""Connections that require an upgrade."""


def read_log(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The log of a pod: empty, with 204, for a pod that is on no node, and refused where nobody answers.

    Raises 400 and 422 for options that are none, 404 for a pod or node that is not there, 400 for a container that is
    none of the pod's, and 500 where nobody answers at the other end. Reading a log is no connection to admission.
    """
    info, request = context.info, context.request
    options = connection_options(request, "log")
    check_log_options(options, info.name)
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
    return {name: True for name in ("follow", "previous", "timestamps") if _is_on(query.get(name, ()))}


def _log_response(log: Any) -> Response:
    if isinstance(log, bytes):
        return Response(200, log, "text/plain")
    return Response(200, content_type="text/plain", stream=log)


def _is_on(values: Any) -> bool:
    return bool(values) and values[0].lower() not in ("false", "0")


def stream(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """An exec, attach or portforward: the response with which the connection changes its protocol.

    Raises what admission raises, 403 for a user who may not create connections, 404 for a pod or node that is not
    there, 400 for a container that is none of the pod's, for a pod that is on no node and for a request without an
    upgrade, and 500 where no node is reached.
    """
    info, container = context.info, ""
    _admit(engine, context, scope)
    if applies("connections-to-pods-need-create"):
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
    ask = context.info.asks(context.actor())
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
    connection_options(context.request, context.info.subresource)
    admission = AdmissionBinding(engine, context, scope, dry_run=False, options={})
    engine.admission.validate(admission.review("CONNECT", None, None))


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
