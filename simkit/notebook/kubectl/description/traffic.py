"""Network policies, endpoints, endpoint slices and ingress classes as kubectl describes them.

Upstream: describeNetworkPolicy, describeEndpoints, describeEndpointSliceV1 and describeIngressClassV1 in
k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import (
    annotation_lines,
    label_lines,
    name_lines,
    selector_text,
    yes_or_no,
)

_WAYS: Final = (("Ingress", "From", "from", "source"), ("Egress", "To", "to", "destination"))


def network_policy_lines(client: Client, obj: Object) -> Iterator[str]:
    """A network policy: the pods that it selects, and the traffic that it lets pass."""
    spec, created = obj["spec"], obj["metadata"]["creationTimestamp"]
    yield from name_lines(obj)
    yield f"Created on:\t{created.replace('T', ' ').removesuffix('Z')} +0000 UTC"
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    chosen = selector_text(spec.get("podSelector"), none="")
    every = "<none> (Allowing the specific traffic to all pods in this namespace)"
    yield from ("Spec:", f"  PodSelector:     {chosen or every}")
    for way, head, field, end in _WAYS:
        if way not in (spec.get("policyTypes") or ()):
            yield f"  Not affecting {way.lower()} traffic"
            continue
        yield f"  Allowing {way.lower()} traffic:"
        rules = spec.get(way.lower()) or ()
        if not rules:
            yield f"    <none> (Selected pods are isolated for {way.lower()} connectivity)"
        for number, rule in enumerate(rules):
            yield from ("    ----------",) if number else ()
            yield from _passing(rule, head, rule.get(field) or (), end)
    yield f"  Policy Types: {', '.join(spec.get('policyTypes') or ())}"


def _passing(rule: Mapping[str, Any], head: str, peers: Sequence[Mapping[str, Any]], end: str) -> Iterator[str]:
    """The ports of a rule, and who may be at the other end."""
    ports = rule.get("ports") or ()
    yield from (f"    To Port: {each.get('port', '')}/{each.get('protocol', 'TCP')}" for each in ports)
    if not ports:
        yield "    To Port: <any> (traffic allowed to all ports)"
    if not peers:
        yield f"    {head}: <any> (traffic not restricted by {end})"
    for peer in peers:
        yield f"    {head}:"
        for field, title in (("namespaceSelector", "NamespaceSelector"), ("podSelector", "PodSelector")):
            if peer.get(field) is not None:
                yield f"      {title}: {selector_text(peer[field])}"
        if peer.get("ipBlock"):
            yield from ("      IPBlock:", f"        CIDR: {peer['ipBlock']['cidr']}")
            yield f"        Except: {', '.join(peer['ipBlock'].get('except') or ())}"


def endpoints_lines(client: Client, obj: Object) -> Iterator[str]:
    """Endpoints with the addresses and ports of each subset."""
    yield from name_lines(obj)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield "Subsets:"
    for subset in obj.get("subsets") or ():
        for title, field in (("Addresses", "addresses"), ("NotReadyAddresses", "notReadyAddresses")):
            yield f"  {title}:\t{','.join(each['ip'] for each in subset.get(field) or ()) or '<none>'}"
        if subset.get("ports"):
            yield "  Ports:"
            yield from _port_lines(subset["ports"], "    ")
        yield ""
    yield from event_lines(client, events_of(client, obj, kind="Endpoints"))


def _port_lines(ports: Sequence[Mapping[str, Any]], indent: str) -> Iterator[str]:
    yield from (f"{indent}Name\tPort\tProtocol", f"{indent}----\t----\t--------")
    for each in ports:
        yield f"{indent}{each.get('name') or '<unset>'}\t{each.get('port', '<unset>')}\t{each.get('protocol', 'TCP')}"


def endpoint_slice_lines(client: Client, obj: Object) -> Iterator[str]:
    """An endpoint slice with its ports and endpoints."""
    yield from name_lines(obj)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield f"AddressType:\t{obj.get('addressType', '')}"
    ports, endpoints = obj.get("ports") or (), obj.get("endpoints") or ()
    yield "Ports:" if ports else "Ports: <unset>"
    yield from _port_lines(ports, "  ") if ports else ()
    yield "Endpoints:" if endpoints else "Endpoints: <none>"
    for each in endpoints:
        ready = at(each, "conditions", "ready")
        yield f"  - Addresses:\t{', '.join(each.get('addresses') or ())}"
        yield from ("    Conditions:", f"      Ready:\t{'<unset>' if ready is None else yes_or_no(ready)}")
        yield f"    Hostname:\t{each.get('hostname', '<unset>')}"
        if each.get("targetRef"):
            yield f"    TargetRef:\t{each['targetRef']['kind']}/{each['targetRef']['name']}"
        yield from (f"    NodeName:\t{each.get('nodeName', '<unset>')}", f"    Zone:\t{each.get('zone', '<unset>')}")
    yield from event_lines(client, events_of(client, obj, kind="EndpointSlice"))


def ingress_class_lines(client: Client, obj: Object) -> Iterator[str]:
    """An ingress class with its controller and parameters."""
    yield from name_lines(obj, namespace=False)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield f"Controller:\t{obj['spec'].get('controller', '')}"
    parameters = obj["spec"].get("parameters")
    if parameters:
        yield "Parameters:"
        yield from (f"  APIGroup:\t{parameters['apiGroup']}",) if parameters.get("apiGroup") else ()
        yield from (f"  Kind:\t{parameters.get('kind', '')}", f"  Name:\t{parameters.get('name', '')}")
    yield from event_lines(client, events_of(client, obj, kind="IngressClass"))
