"""Connections to pods, nodes and services: admitted, looked up, and then refused, since nothing is there to connect to.

What is refused, and how, is what kube-apiserver says when it cannot reach a node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs.admission_binding import AdmissionBinding
from simkit.meta.errors import StatusError, bad_request, not_found, unexplained
from simkit.meta.message import Response
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at

_STREAMS: Final = ("exec", "attach", "portforward")
"""Connections that the client must ask to upgrade."""
_READ: Final = "log"
"""What is read through a node is no connection to admission."""


def connect(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """Refuse a connection as a server does that reaches no node.

    Raises 404 for an object that is not there, 400 for a pod that is on no node and for a stream without an upgrade,
    what admission raises, and else 500 or 503: nobody answers at the other end.
    """
    info = context.info
    if info.subresource != _READ:
        admission = AdmissionBinding(engine, context, scope, dry_run=False, options={})
        engine.admission.validate(admission.review("CONNECT", None, None))
    entry = engine.store.get(scope.registry_scope.key(info.namespace, info.name))
    if entry is None:
        raise not_found(scope.resource.group_resource, info.name)
    host = _host(scope.resource.group_resource, entry.object, info.subresource)
    if info.subresource in _STREAMS and not context.request.header("upgrade"):
        raise bad_request("Upgrade request required")
    if info.subresource == _READ:
        address = f"https://{host}:10250/containerLogs/{info.namespace}/{info.name}"
        raise unexplained(f'Get "{address}": dial tcp: lookup {host}: no such host')
    if info.subresource == "proxy":
        raise _unavailable(f"error trying to reach service: dial tcp: lookup {host}: no such host")
    raise unexplained(f"error dialing backend: dial tcp: lookup {host}: no such host")


def _unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)


def _host(resource: GroupResource, obj: Object, part: str) -> str:
    """The host of a connection."""
    name = str(obj["metadata"]["name"])
    if resource.resource == "services":
        raise _unavailable(f'no endpoints available for service "{name}"')
    if resource.resource != "pods":
        return name
    node = at(obj, "spec", "nodeName")
    if not node:
        raise bad_request(f"pod {name} does not have a host assigned")
    return str(at(obj, "status", "podIP") or node if part == "proxy" else node)


CONNECTIONS: Final[Mapping[tuple[GroupResource, str], Callable[[Engine, RequestContext, RequestScope], Response]]] = {
    **{(GroupResource("", "pods"), part): connect for part in (*_STREAMS, _READ, "proxy")},
    (GroupResource("", "nodes"), "proxy"): connect,
    (GroupResource("", "services"), "proxy"): connect,
}
"""Subresources that are connections."""
