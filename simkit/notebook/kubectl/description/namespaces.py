"""Namespaces as kubectl describes them, with their quotas and limit ranges.

Upstream: describeNamespace in k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.meta.objects import Object, at
from simkit.meta.quantity import parse
from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.description.parts import annotation_lines, label_lines, name_lines, shown_time

_LIMITS: Final = ("min", "max", "defaultRequest", "default", "maxLimitRequestRatio")
_SCOPES: Final[Mapping[str, str]] = {
    "Terminating": "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before "
    "being actively terminated by the system.",
    "NotTerminating": "Matches all pods that do not have an active deadline. These pods usually include long running "
    "pods whose container command is not expected to terminate.",
    "BestEffort": "Matches all pods that do not have resource requirements set. These pods have a best effort quality "
    "of service.",
    "NotBestEffort": "Matches all pods that have at least one resource requirement set. These pods have a burstable or "
    "guaranteed quality of service.",
}
"""The words of kubectl for the scope of a quota."""


def namespace_lines(client: Client, obj: Object) -> Iterator[str]:
    """A namespace with its quotas and limit ranges."""
    name = obj["metadata"]["name"]
    yield from name_lines(obj, namespace=False)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield f"Status:\t{at(obj, 'status', 'phase') or ''}"
    conditions = at(obj, "status", "conditions")
    if conditions:
        yield from ("Conditions:", "  Type\tStatus\tLastTransitionTime\tReason\tMessage")
        yield "  ----\t------\t------------------\t------\t-------"
    for each in conditions or ():
        told = f"{shown_time(each.get('lastTransitionTime'))}\t{each.get('reason', '')}\t{each.get('message', '')}"
        yield f"  {each['type']}\t{each['status']}\t{told}"
    yield ""
    yield from _quotas(client, name)
    yield ""
    yield from _limit_ranges(client, name)


def _listed(client: Client, word: str, namespace: str) -> list[dict[str, Any]]:
    found = client.ask("GET", client.path(client.resource(word), namespace)).object["items"]
    return sorted(found, key=lambda each: str(each["metadata"]["name"]))


def _quotas(client: Client, namespace: str) -> Iterator[str]:
    found = _listed(client, "resourcequotas", namespace)
    yield "Resource Quotas" if found else "No resource quota."
    for each in found:
        yield f"  Name:\t{each['metadata']['name']}"
        scopes = sorted(each["spec"].get("scopes") or ())
        if scopes:
            yield f"  Scopes:\t{', '.join(scopes)}"
            yield from (f"  * {_SCOPES[scope]}" for scope in scopes if scope in _SCOPES)
        yield from ("  Resource\tUsed\tHard", "  --------\t---\t---")
        used = at(each, "status", "used") or {}
        for name, hard in sorted((at(each, "status", "hard") or {}).items()):
            yield f"  {name}\t{parse(str(used.get(name, '0')))}\t{parse(str(hard))}"


def _limit_ranges(client: Client, namespace: str) -> Iterator[str]:
    found = _listed(client, "limitranges", namespace)
    if not found:
        yield "No LimitRange resource."
        return
    yield "Resource Limits"
    yield " Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio"
    yield " ----\t--------\t---\t---\t---------------\t-------------\t-----------------------"
    for item in (item for each in found for item in each["spec"].get("limits") or ()):
        for name in sorted({name for field in _LIMITS for name in item.get(field) or ()}):
            cells = [str((item.get(field) or {}).get(name, "-")) for field in _LIMITS]
            yield " " + "\t".join([item["type"], name, *cells])
