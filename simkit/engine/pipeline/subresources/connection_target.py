"""A connection to a pod, a node or a service: its options, its session and its other end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.client.resources import ENDPOINTS, NODES, PODS, SERVICES
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.kinds.parts.validation.ip import address
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import StatusError, bad_request, invalid, unexplained
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value
from simkit.meta.go_number import parse_int, parse_uint
from simkit.meta.integers import is_digits
from simkit.meta.message import Request
from simkit.meta.names import GroupKind, GroupResource, Key
from simkit.meta.objects import Object, at
from simkit.meta.podspec import containers_of
from simkit.schema.time_and_bytes import canonical_time
from simkit.seams import PodConnections, PortHandler, RemoteProcess, existing

# The options of connections: query parameters, read and checked as kube-apiserver does.
# Follows ``pkg/apis/core/v1/zz_generated.conversion.go`` (which parameters are read, in which order) and
# ``ValidatePodLogOptions`` of ``pkg/apis/core/validation/validation.go``, release 1.30.

_NEGATIVE: Final = "must be greater than or equal to 0"
_NOT_POSITIVE: Final = "must be greater than 0"
_BOTH: Final = "at most one of `sinceTime` or `sinceSeconds` may be specified"


def requested_ports(request: Request) -> list[int]:
    """The ports of a portforward, also several in one parameter. Raises 400."""
    try:
        return [parse_uint(text, bits=16) for given in request.query.get("ports", ()) for text in given.split(",")]
    except ValueError as error:
        raise bad_request(f"cannot convert to []int32: {error}") from None


_READ: Final[Mapping[str, Mapping[str, Callable[[str], Any]]]] = {
    "log": {
        "sinceSeconds": parse_int,
        "sinceTime": lambda text: canonical_time(text) if text not in ("", "null") else None,
        "tailLines": parse_int,
        "limitBytes": parse_int,
        "stream": str,
    },
}
"""The parsed parameters of connections; others are texts, or booleans."""


def connection_options(request: Request, subresource: str) -> dict[str, Any]:
    """The parameters of a connection that are numbers or times, and the list of ports.

    Raises
    ------
    StatusError
        400 for a value that cannot be read, with Go's words; a dry run is none that a connection can make.
    """
    if request.option("dryRun") and subresource != "log":
        raise bad_request("dryRun is not supported")
    options: dict[str, Any] = {}
    for name, read in _READ.get(subresource, {}).items():
        for text in request.query.get(name, ())[:1]:
            try:
                options[name] = read(text)
            except ValueError as error:
                raise bad_request(str(error)) from None
    if subresource == "portforward":
        options["ports"] = requested_ports(request)
    return options


def check_log_options(behaviour: ServedBehaviour, options: Mapping[str, Any], name: str) -> None:
    """Raise the 422 of invalid options for the log of a pod, with all errors."""
    errors: list[FieldError] = []
    tail, limit, seconds = (options.get(field) for field in ("tailLines", "limitBytes", "sinceSeconds"))
    if tail is not None and tail < 0:
        errors.append(invalid_value("tailLines", tail, _NEGATIVE))
    if limit is not None and limit < 1:
        errors.append(invalid_value("limitBytes", limit, _NOT_POSITIVE))
    if seconds is not None and "sinceTime" in options:
        errors.append(forbidden_field("[]", _BOTH))
    elif seconds is not None and seconds < 1:
        errors.append(invalid_value("sinceSeconds", seconds, _NOT_POSITIVE))
    if "stream" in options and behaviour.applies("logs-by-stream-refused"):
        errors.append(forbidden_field("stream", "may not be specified"))
    if errors:
        raise invalid(behaviour, GroupKind("", "PodLogOptions"), name, errors)


# The session of a connection to a pod: a process, or ports


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


# The other end of a connection: the container, the kubelet, or the address behind a pod, a node or a service.
# Follows ``pkg/registry/core/{pod,node}/strategy.go``, ``pkg/registry/core/service/storage/storage.go``,
# ``pkg/kubelet/client/kubelet_client.go`` and ``pkg/util/node/node.go``, release 1.30.

_PREFERRED: Final = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
_KUBELET_PORT: Final = 10250
_HTTP_PORT: Final = 80
_HTTPS_PORT: Final = 443
_LONG: Final = 6
"""Digits of a number that is no port."""
_SCHEMES: Final = ("", "http", "https")
_NOT_ALLOWED: Final = "address not allowed"


class Target(NamedTuple):
    """A host and a port, which is 0 for the scheme's default."""

    host: str
    port: int | str = 0
    node: str = ""
    """The node that the host is or runs on; empty if none is known."""
    pod: Object | None = None
    """The pod whose address the host is."""
    secure: bool = False
    """True where the scheme is https."""
    is_kubelet: bool = False
    """True for the port of a kubelet."""

    @property
    def number(self) -> int:
        """The port as a number; 0 for one that is none."""
        usual = _HTTPS_PORT if self.secure else _HTTP_PORT
        return int(self.port or usual) if is_digits(str(self.port)) and len(str(self.port)) < _LONG else 0


def container_of(pod: Object, wanted: str) -> str:
    """The container for a request. Raises 400 if the pod has no such one, or several and none is named."""
    name, spec = pod["metadata"]["name"], pod.get("spec") or {}
    names = [container.get("name", "") for container in containers_of(spec)]
    if wanted:
        if wanted not in names:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    containers: Sequence[Object] = spec.get("containers") or ()
    if len(containers) == 1:
        return str(containers[0].get("name", ""))
    choice = f", choose one of: [{' '.join(names)}]" if containers else ""
    raise bad_request(f"a container name must be specified for pod {name}{choice}")


def kubelet_of(engine: Engine, node: str, *, requested: GroupResource = PODS) -> Target:
    """The kubelet of a node. Raises 404 for a missing node, 500 for one without an address."""
    found = stored(engine, NODES, "", node, requested=requested)
    port = at(found, "status", "daemonEndpoints", "kubeletEndpoint", "Port") or 0
    return Target(_preferred_address(found), port if port > 0 else _KUBELET_PORT, node)


def stored(
    engine: Engine, resource: GroupResource, namespace: str, name: str, *, requested: GroupResource | None = None
) -> Object:
    """An object of the store. Raises 404, which names the requested resource, as that of kube-apiserver does."""
    return existing(engine.store, Key(resource, namespace, name), requested).object


def _preferred_address(node: Object) -> str:
    known = at(node, "status", "addresses") or ()
    for preferred in _PREFERRED:
        for given in known:
            if given.get("type") == preferred:
                return str(given.get("address", ""))
    shown = " ".join(f"{{{given.get('type', '')} {given.get('address', '')}}}" for given in known)
    raise unexplained(f"no preferred addresses found; known addresses: [{shown}]")


def proxied(engine: Engine, resource: GroupResource, namespace: str, text: str) -> Target:
    """The address behind ``name``, ``name:port`` or ``scheme:name:port``.

    Raises
    ------
    StatusError
        400 for a text of another form and for addresses that are none to connect to, 404 for what is not there, 503
        for a service that nobody serves.
    """
    scheme, name, port = _split(resource, text)
    if resource == SERVICES:
        return _behind_service(engine, namespace, text, name, port)._replace(secure=scheme == "https")
    if resource == PODS:
        return _behind_pod(stored(engine, PODS, namespace, name), port)._replace(secure=scheme == "https")
    kubelet = kubelet_of(engine, name, requested=NODES)
    if address(kubelet.host) is not None and not _allowed(kubelet.host):
        raise bad_request(_NOT_ALLOWED)
    return kubelet._replace(port=port or kubelet.port, is_kubelet=port in ("", str(kubelet.port)))


def _split(resource: GroupResource, text: str) -> tuple[str, str, str]:
    parts = text.split(":")
    scheme = parts.pop(0) if len(parts) > 2 else ""
    name, port = parts[0], parts[1] if len(parts) > 1 else ""
    if len(parts) > 2 or not name or scheme not in _SCHEMES:
        raise bad_request(f'invalid {resource.resource.removesuffix("s")} request "{text}"')
    return scheme, name, port


def _behind_pod(pod: Object, port: str) -> Target:
    host = at(pod, "status", "podIP") or at(pod, "status", "podIPs", 0, "ip") or ""
    if not _allowed(host):
        raise bad_request(_NOT_ALLOWED)
    return Target(host, port or next(_ports(pod), 0), at(pod, "spec", "nodeName") or "", pod)


def _ports(pod: Object) -> Iterator[int]:
    """The first port of each container."""
    for container in at(pod, "spec", "containers") or ():
        for port in (container.get("ports") or ())[:1]:
            yield port.get("containerPort", 0)


def _allowed(text: str) -> bool:
    """True if a text is an address of one host that is not this one."""
    found = address(text)
    if found is None or text == "255.255.255.255":
        return False
    return not (found.is_unspecified or found.is_loopback or found.is_multicast or found.is_link_local)


def _behind_service(engine: Engine, namespace: str, text: str, name: str, port: str) -> Target:
    port = _port_name(engine, namespace, name, port)
    subsets = stored(engine, ENDPOINTS, namespace, name, requested=SERVICES).get("subsets") or ()
    if not subsets:
        raise _unavailable(f'no endpoints available for service "{name}"')
    for subset in subsets:
        for served in subset.get("ports") or ():
            if served.get("name", "") != port:
                continue
            for endpoint in subset.get("addresses") or ():
                pod = _own_pod(engine, namespace, endpoint)
                if pod is not None:
                    return Target(endpoint["ip"], served.get("port", 0), endpoint.get("nodeName") or "", pod)
    raise _unavailable(f'no endpoints available for service "{text}"')


def _port_name(engine: Engine, namespace: str, name: str, port: str) -> str:
    """The name of a service's port, also for a number."""
    try:
        number = parse_int(port)
    except ValueError:
        return port
    for served in at(stored(engine, SERVICES, namespace, name), "spec", "ports") or ():
        if served.get("port") == number:
            return str(served.get("name", ""))
    raise _unavailable(f'no service port {number} found for service "{name}"')


def _own_pod(engine: Engine, namespace: str, endpoint: Object) -> Object | None:
    """The pod that an endpoint names, if it has the endpoint's address: no other is proxied to."""
    reference = endpoint.get("targetRef") or {}
    if reference.get("namespace", "") != namespace:
        return None
    entry = engine.store.get(Key(PODS, namespace, reference.get("name", "")))
    if entry is None:
        return None
    status = entry.object.get("status") or {}
    held = [status.get("podIP"), *(given.get("ip") for given in status.get("podIPs") or ())]
    return entry.object if endpoint.get("ip") in held else None


def _unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)
