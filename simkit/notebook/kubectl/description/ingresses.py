"""Ingresses as kubectl describes them.

Upstream: describeIngressV1 in k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import annotation_lines, label_lines
from simkit.notebook.kubectl.description.services import backend_endpoints


def ingress_lines(client: Client, obj: Object) -> Iterator[str]:
    """An ingress with its rules, and the addresses behind each backend."""
    data, spec = obj["metadata"], obj["spec"]
    points = at(obj, "status", "loadBalancer", "ingress") or ()
    yield f"Name:\t{data['name']}"
    yield from label_lines(data.get("labels"))
    yield f"Namespace:\t{data['namespace']}"
    yield f"Address:\t{','.join(str(each.get('ip') or each.get('hostname') or '') for each in points)}"
    yield f"Ingress Class:\t{spec.get('ingressClassName') or '<none>'}"
    default = spec.get("defaultBackend")
    yield f"Default backend:\t{_backend(client, obj, default) if default else '<default>'}"
    if spec.get("tls"):
        yield "TLS:"
        for each in spec["tls"]:
            hosts = ",".join(each.get("hosts") or ())
            yield f"  {each['secretName']} terminates {hosts}" if each.get("secretName") else f"  SNI routes {hosts}"
    yield "Rules:"
    yield "  Host\tPath\tBackends"
    yield "  ----\t----\t--------"
    rules = [rule for rule in spec.get("rules") or () if rule.get("http")]
    for rule in rules:
        yield f"  {rule.get('host') or '*'}\t"
        for path in rule["http"]["paths"]:
            yield f"    \t{path.get('path', '')} \t{_backend(client, obj, path['backend'])}"
    if not rules:
        yield f"  *\t*\t{_backend(client, obj, default) if default else '<default>'}"
    yield from annotation_lines(obj)
    yield from event_lines(client, events_of(client, obj, kind="Ingress"))


def _backend(client: Client, ingress: Object, backend: Mapping[str, Any]) -> str:
    """A backend as ``service:port (addresses)``, or the resource that it is."""
    service = backend.get("service")
    if service is None:
        resource = backend["resource"]
        return f"APIGroup: {resource.get('apiGroup', '')}, Kind: {resource['kind']}, Name: {resource['name']}"
    port = service.get("port") or {}
    shown = f"{service['name']}:{port.get('name') or port.get('number', 0)}"
    path = client.path(client.resource("services"), ingress["metadata"]["namespace"], service["name"])
    try:
        live = client.ask("GET", path).object
    except KubectlError as error:
        return f"{shown} (<error: {error.text.partition(': ')[2]}>)"
    names = [
        each.get("name") or ""
        for each in live["spec"].get("ports") or ()
        if port.get("number") == each["port"] or (port.get("name") and port["name"] == each.get("name"))
    ]
    return f"{shown} ({backend_endpoints(client, live, names[0] if names else '')})"
