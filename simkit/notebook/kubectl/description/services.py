"""Services as kubectl describes them.

Upstream: describeService in k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.domain import api_group, label
from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import annotation_lines, label_lines, name_lines

_SHOWN: Final = 3
"""The number of endpoints that are listed."""


def service_lines(client: Client, obj: Object) -> Iterator[str]:
    """A service with its addresses, ports, endpoints and events."""
    spec = obj["spec"]
    yield from name_lines(obj)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    pairs = sorted((spec.get("selector") or {}).items())
    yield f"Selector:\t{','.join(f'{name}={text}' for name, text in pairs) or '<none>'}"
    yield f"Type:\t{spec.get('type', '')}"
    if spec.get("ipFamilyPolicy"):
        yield f"IP Family Policy:\t{spec['ipFamilyPolicy']}"
    yield f"IP Families:\t{','.join(spec.get('ipFamilies') or ()) or '<none>'}"
    yield f"IP:\t{spec.get('clusterIP', '')}"
    yield f"IPs:\t{','.join(spec.get('clusterIPs') or ()) or '<none>'}"
    yield from _outside(obj)
    slices = _endpoint_slices(client, obj)
    for port in spec.get("ports") or ():
        yield from _port(port, slices)
    yield f"Session Affinity:\t{spec.get('sessionAffinity', '')}"
    for field, title in (
        ("externalTrafficPolicy", "External Traffic Policy"),
        ("internalTrafficPolicy", "Internal Traffic Policy"),
        ("healthCheckNodePort", "HealthCheck NodePort"),
    ):
        if spec.get(field):
            yield f"{title}:\t{spec[field]}"
    if spec.get("loadBalancerSourceRanges"):
        yield f"LoadBalancer Source Ranges:\t{','.join(spec['loadBalancerSourceRanges'])}"
    yield from event_lines(client, events_of(client, obj, kind="Service"))


def _outside(obj: Object) -> Iterator[str]:
    """The addresses and ports of a service from outside of the cluster."""
    spec = obj["spec"]
    if spec.get("externalIPs"):
        yield f"External IPs:\t{','.join(spec['externalIPs'])}"
    for field, title in (("loadBalancerIP", "Desired LoadBalancer IP"), ("externalName", "External Name")):
        if spec.get(field):
            yield f"{title}:\t{spec[field]}"
    ingress = at(obj, "status", "loadBalancer", "ingress")
    if ingress:
        yield f"LoadBalancer Ingress:\t{', '.join(map(_ingress, ingress))}"


def _ingress(point: Mapping[str, Any]) -> str:
    if not point.get("ip"):
        return str(point.get("hostname", ""))
    return f"{point['ip']} ({point['ipMode']})" if point.get("ipMode") else str(point["ip"])


def _port(port: Mapping[str, Any], slices: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    name, protocol = port.get("name") or "<unset>", port.get("protocol", "TCP")
    yield f"Port:\t{name}\t{port['port']}/{protocol}"
    yield f"TargetPort:\t{port.get('targetPort', 0)}/{protocol}"
    if port.get("nodePort"):
        yield f"NodePort:\t{name}\t{port['nodePort']}/{protocol}"
    yield f"Endpoints:\t{_endpoints(slices, port.get('name') or '')}"


def backend_endpoints(client: Client, service: Object, port_name: str) -> str:
    """The addresses behind one port of a service; empty if none is ready."""
    return _endpoints(_endpoint_slices(client, service), port_name)


def _endpoint_slices(client: Client, service: Object) -> list[dict[str, Any]]:
    resource = client.resource(f"endpointslices.{api_group('discovery')}")
    selector = f"{label('service-name')}={service['metadata']['name']}"
    path = client.path(resource, service["metadata"]["namespace"])
    return list(client.ask("GET", path, query={"labelSelector": selector}).object["items"])


def _endpoints(slices: Sequence[Mapping[str, Any]], port_name: str) -> str:
    """The first ready endpoints of a port, and how many more there are."""
    if not slices:
        return "<none>"
    found: list[str] = []
    for each in slices:
        ready = [
            one["addresses"][0] for one in each.get("endpoints") or () if at(one, "conditions", "ready") is not False
        ]
        if not each.get("ports"):
            found += ready
        for port in each.get("ports") or ():
            if (port.get("name") or "") == port_name:
                found += [
                    f"[{address}]:{port['port']}" if ":" in address else f"{address}:{port['port']}"
                    for address in ready
                ]
    more = f" + {len(found) - _SHOWN} more..." if len(found) > _SHOWN else ""
    return ",".join(found[:_SHOWN]) + more
