"""Objects that a server creates besides namespaces and roles: flow control, its service, its leases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.registry.reservation import SERVICE_CIDRS
from simkit.kinds.conversions import convert
from simkit.kinds.parts.flowcontrol.rules import flow_objects
from simkit.meta.clock import timestamp
from simkit.meta.domain import DEFAULT_NAMESPACE, SYSTEM_NAMESPACE, api_group, label
from simkit.meta.names import GroupResource
from simkit.meta.objects import Draft, Object

ADDRESS: Final = "192.0.2.1"
"""The server's address in documents."""
PORT: Final = 6443
AUTHENTICATION: Final = "extension-apiserver-authentication"
"""The config map with the authorities that other servers trust."""
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
        yield _config_map("kube-apiserver-legacy-service-account-token-tracking", {"since": since})


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


def _config_map(name: str, content: dict[str, str]) -> Object:
    made = _named("v1", "ConfigMap", name, SYSTEM_NAMESPACE, {})
    return {**made, "data": content} if content else made
