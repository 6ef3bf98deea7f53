"""The objects of a new server: its namespaces, the default roles and bindings, and addons in ``kube-system``.

Upstream: pkg/registry/rbac/rest/storage_rbac.go and pkg/apis/scheduling/v1/helpers.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from simkit.client.requests import path_of
from simkit.engine.controllers.served_version import with_served_version
from simkit.engine.controllers.server_records import registered
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.engine.registry.reservation import SERVICE_CIDRS
from simkit.kinds.conversions import convert
from simkit.kinds.flowcontrol import flow_objects
from simkit.logic.rbac.defaults import outdated_bindings, reconcile
from simkit.meta import datasets
from simkit.meta.clock import timestamp
from simkit.meta.domain import (
    API_SERVER,
    DEFAULT_NAMESPACE,
    NODE_LEASE_NAMESPACE,
    PUBLIC_NAMESPACE,
    REGISTRATION_GROUP,
    SYSTEM_NAMESPACE,
    api_group,
    label,
)
from simkit.meta.errors import SimkitError
from simkit.meta.identity import MASTERS, Identity, administrator
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Draft, Object, name_of, namespace_of
from simkit.meta.unreadable import UnreadableObject
from simkit.schema import versions
from simkit.schema.catalogue import Resource
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane


SERVER: Final = Identity("system:apiserver", (MASTERS,))
"""The identity of the server's own writes."""
_PRIORITIES: Final = {
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}
_PRODUCER: Final = "api-priority-and-fairness-config-producer-v1"
"""The field manager of the default flow schemas and priority levels."""
_RANGES_MANAGER: Final = "kubernetes-service-cidr-controller"
"""The field manager of the status of the server's own ranges."""
_NAMESPACES: Final = (SYSTEM_NAMESPACE, PUBLIC_NAMESPACE, NODE_LEASE_NAMESPACE, DEFAULT_NAMESPACE)


def fill(engine: Engine, snapshot: Callable[[], Snapshot]) -> None:
    """Create the default objects that are missing, through the handler chain. Safe to repeat.

    An object that is stored but cannot be read is left as it is.
    """
    for name in _NAMESPACES:
        provide(engine, name)
    for name, (value, description) in _PRIORITIES.items():
        priority = {"metadata": {"name": name}, "value": value, "description": description}
        _create(engine, f"/apis/{api_group('scheduling')}/v1/priorityclasses", priority)
    for version in sorted({each.group_version for each in engine.catalogue.resources()}):
        if version.group != REGISTRATION_GROUP:
            registration = registered(version, versions.priority(version, engine.catalogue.release), "onstart")
            _create(engine, f"/apis/{REGISTRATION_GROUP}/v1/apiservices", registration)
    _fill_first(engine)
    for key in list(outdated_bindings(snapshot())):
        resource = engine.catalogue.lookup(str(key.resource))
        _send(engine, "DELETE", resource.path_to(key.name, key.namespace), None)
    for obj, exists in reconcile(snapshot(), engine.gates):
        _write(engine, obj, exists=exists)


def _fill_first(engine: Engine) -> None:
    """Create missing objects of flow control, the server's service, and its other own objects."""
    for obj in first_objects(engine):
        if not _is_there(engine, Key(_resource(engine, obj).storage, namespace_of(obj), name_of(obj))):
            _write(engine, obj, exists=False)
            if obj["kind"] == "ServiceCIDR":
                _make_ready(engine, obj)


def _make_ready(engine: Engine, ranges: Object) -> None:
    """Say of the server's own ranges that they are ready, as its controller does: by an apply."""
    resource = _resource(engine, ranges)
    condition = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": timestamp(engine.clock.now()),
        "message": "Kubernetes default Service CIDR is ready",
    }
    status = {
        "apiVersion": ranges["apiVersion"],
        "kind": ranges["kind"],
        "metadata": {"name": name_of(ranges)},
        "status": {"conditions": [condition]},
    }
    path = f"{resource.path_to(name_of(ranges), subresource='status')}?fieldManager={_RANGES_MANAGER}&force=true"
    _send(engine, "PATCH", path, status, media="application/apply-patch+yaml")


def provide(engine: Engine, namespace: str) -> None:
    """Create a namespace, unless it exists by now."""
    _create(engine, "/api/v1/namespaces", {"metadata": {"name": namespace}})


def _create(engine: Engine, path: str, obj: Object) -> None:
    """Create an object of the whole cluster, unless it is there."""
    version, _, resource = path.rpartition("/")
    group = version.split("/")[2] if version.startswith("/apis/") else ""
    if not _is_there(engine, Key(GroupResource(group, resource), "", name_of(obj))):
        _send(engine, "POST", path, obj)


def _is_there(engine: Engine, key: Key) -> bool:
    """True if an object is stored, also one that cannot be read, of which the log has told."""
    try:
        return engine.store.get(key) is not None
    except UnreadableObject:
        return True


def _resource(engine: Engine, obj: Object) -> Resource:
    return engine.catalogue.lookup(f"{obj['kind']}.{obj['apiVersion'].partition('/')[0]}")


def _write(engine: Engine, obj: Object, *, exists: bool) -> None:
    resource = _resource(engine, obj)
    if exists:
        _send(engine, "PUT", resource.path_to(name_of(obj), namespace_of(obj)), obj)
    else:
        by = f"?fieldManager={_PRODUCER}" if resource.group == FLOW_GROUP else ""
        _send(engine, "POST", resource.collection(namespace_of(obj)) + by, obj)


def _send(engine: Engine, method: str, path: str, obj: Object | None, *, media: str = "application/json") -> None:
    request = Request.of(method, path, obj, content_type=media, headers={"user-agent": API_SERVER})
    response = serve_request(engine, request, SERVER)
    if response.status >= 400 and response.status != 409:
        raise SimkitError(f"the server could not make {path}: {response.message}")


# Objects that a server creates besides namespaces and roles: flow control, its service, its leases.

ADDRESS: Final = "192.0.2.1"
"""The server's address in documents."""
PORT: Final = 6443
FLOW_GROUP: Final = api_group("flowcontrol.apiserver")
DISCOVERY_GROUP: Final = api_group("discovery")
NAME: Final = "kubernetes"
"""The service by which pods reach the server."""


def _flow(engine: Engine) -> Iterator[Object]:
    """The objects of flow control in the served version."""
    served = engine.catalogue.preferred(GroupResource(FLOW_GROUP, "flowschemas"))
    if served is not None:
        yield from (convert(obj, served.api_version, engine.behaviour) for obj in flow_objects(engine.behaviour.minor))


def first_objects(engine: Engine) -> Iterator[Object]:
    """The objects in the order of their creation. Existing ones are kept."""
    yield from _flow(engine)
    if engine.behaviour.applies("addresses-of-service-ranges") and (kind := engine.catalogue.preferred(SERVICE_CIDRS)):
        head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": NAME}}
        yield {**head, "spec": {"cidrs": list(engine.registry.allocation.ranges)}}
    yield _service(engine)
    yield _endpoints()
    served = engine.catalogue.preferred(GroupResource(DISCOVERY_GROUP, "endpointslices"))
    if served is not None:
        yield convert(_slice(), served.api_version, engine.behaviour)
    if engine.behaviour.applies("legacy-tokens-tracked"):
        since = timestamp(engine.clock.now()).partition("T")[0]
        name = "kube-apiserver-legacy-service-account-token-tracking"
        yield {**_named("v1", "ConfigMap", name, SYSTEM_NAMESPACE, {}), "data": {"since": since}}


def _named(api_version: str, kind: str, name: str, namespace: str, labels: dict[str, str]) -> Draft:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _service(engine: Engine) -> Object:
    """The server's service, with the first address of the range."""
    made = _named("v1", "Service", NAME, DEFAULT_NAMESPACE, {"component": "apiserver", "provider": NAME})
    first = engine.registry.allocation.first_address()
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": PORT}]
    made["spec"] = {"clusterIP": first, "clusterIPs": [first], "ports": ports, "sessionAffinity": "None"}
    return made


def _endpoints() -> Object:
    unmirrored = {label("skip-mirror", "endpointslice"): "true"}
    made = _named("v1", "Endpoints", NAME, DEFAULT_NAMESPACE, unmirrored)
    ports = [{"name": "https", "port": PORT, "protocol": "TCP"}]
    return {**made, "subsets": [{"addresses": [{"ip": ADDRESS}], "ports": ports}]}


def _slice() -> Object:
    labels = {label("service-name"): NAME}
    made = _named(f"{DISCOVERY_GROUP}/v1", "EndpointSlice", NAME, DEFAULT_NAMESPACE, labels)
    ports = [{"name": "https", "port": PORT, "protocol": "TCP"}]
    endpoints = [{"addresses": [ADDRESS], "conditions": {"ready": True}}]
    return {**made, "addressType": "IPv4", "endpoints": endpoints, "ports": ports}


ADDONS: Final = ("coredns", "kube-proxy")
"""The addons that are known: the files of ``datasets/addons``."""
_THERE: Final = 409
_INVALID: Final = 422


def add_addons(made: ControlPlane, names: Sequence[str]) -> None:
    """Create the objects of addons; those that are there already stay as they are.

    Raises
    ------
    SimkitError
        For an addon that is not known, or an object that is refused.
    """
    import yaml  # for addons alone

    for name in names:
        if name not in ADDONS:
            raise SimkitError(f"no addon {name!r}; there are {', '.join(ADDONS)}")
        for wanted in yaml.safe_load_all(datasets.path(f"addons/{name}.yaml").read_text(encoding="utf-8")):
            _provided(made, wanted)


def _provided(made: ControlPlane, wanted: Any) -> None:
    """Create an object. A service whose address is in another range than that of the cluster gets a free one."""
    group = wanted["apiVersion"].rpartition("/")[0]
    path = path_of(GroupResource(group, f"{wanted['kind'].lower()}s"), SYSTEM_NAMESPACE)
    response = _asked(made.engine, path, wanted)
    if response.status == _INVALID and wanted["spec"].pop("clusterIP", None):
        response = _asked(made.engine, path, wanted)
    if not response.succeeded and response.status != _THERE:
        raise SimkitError(
            f"{wanted['kind']} {wanted['metadata']['name']} cannot be made: {response.object['message']}; "
            'start without addons (--addons "")'
        )


def _asked(engine: Engine, path: str, wanted: Object) -> Response:
    request = with_served_version(Request.of("POST", path, wanted), engine.catalogue)
    return serve_request(engine, request, administrator())
