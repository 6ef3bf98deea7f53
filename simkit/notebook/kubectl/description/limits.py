"""Quotas, limit ranges and disruption budgets as kubectl describes them.

Upstream: k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator

from simkit.meta.objects import Object
from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import name_lines, selector_text


def quota_lines(client: Client, obj: Object) -> Iterator[str]:
    """A quota: what is used, and what may be."""
    status = obj.get("status") or {}
    used = status.get("used") or {}
    yield from name_lines(obj)
    if obj["spec"].get("scopes"):
        yield f"Scopes:\t{', '.join(sorted(obj['spec']['scopes']))}"
    yield "Resource\tUsed\tHard"
    yield "--------\t----\t----"
    for name, hard in sorted((status.get("hard") or {}).items()):
        yield f"{name}\t{used.get(name, '0')}\t{hard}"


def limit_range_lines(client: Client, obj: Object) -> Iterator[str]:
    """A limit range: a line for each type and resource."""
    heads = ("Type", "Resource", "Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio")
    fields = ("min", "max", "defaultRequest", "default", "maxLimitRequestRatio")
    yield from name_lines(obj)
    yield "\t".join(heads)
    yield "\t".join("-" * len(head) for head in heads)
    for limit in obj["spec"]["limits"]:
        for name in sorted({name for field in fields for name in limit.get(field) or ()}):
            amounts = [str((limit.get(field) or {}).get(name, "-")) for field in fields]
            yield "\t".join((limit["type"], name, *amounts))


def disruption_budget_lines(client: Client, obj: Object) -> Iterator[str]:
    """A disruption budget with its numbers."""
    spec, status = obj["spec"], obj.get("status") or {}
    yield from name_lines(obj)
    for field, head in (("minAvailable", "Min available"), ("maxUnavailable", "Max unavailable")):
        if field in spec:
            yield f"{head}:\t{spec[field]}"
            break
    yield f"Selector:\t{selector_text(spec.get('selector'), none='<unset>')}"
    yield "Status:"
    for field, head in (
        ("disruptionsAllowed", "Allowed disruptions"),
        ("currentHealthy", "Current"),
        ("desiredHealthy", "Desired"),
        ("expectedPods", "Total"),
    ):
        yield f"    {head}:\t{status.get(field, 0)}"
    yield from event_lines(client, events_of(client, obj, kind="PodDisruptionBudget"))
