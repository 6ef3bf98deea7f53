"""The events of an object as kubectl describes them.

Upstream: DescribeEvents and searchEvents in k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simkit.kinds.parts.printers.cells import age
from simkit.meta.objects import Object
from simkit.notebook.kubectl.client import Client, KubectlError


def events_of(client: Client, obj: Object, *, kind: str = "", uid: str | None = None) -> list[dict[str, Any]]:
    """The events about an object; none if the user may not list them.

    ``kind`` is empty for events of any kind; ``uid`` stands in for the uid of the object.
    """
    data = obj["metadata"]
    namespace = data.get("namespace", "")
    asked = {
        "involvedObject.name": data["name"],
        "involvedObject.namespace": namespace,
        "involvedObject.kind": kind,
        "involvedObject.uid": data["uid"] if uid is None else uid,
    }
    selector = ",".join(f"{field}={value}" for field, value in asked.items() if value)
    try:
        found = client.ask(
            "GET", client.path(client.resource("events"), namespace), query={"fieldSelector": selector}
        ).object
    except KubectlError:
        return []
    return list(found["items"])


def event_lines(client: Client, events: list[dict[str, Any]]) -> Iterator[str]:
    """A table of events, the last at the end."""
    if not events:
        yield "Events:\t<none>"
        return
    yield "\fEvents:"
    yield "  Type\tReason\tAge\tFrom\tMessage"
    yield "  ----\t------\t----\t----\t-------"
    now = client.cluster.engine.clock.now()
    for each in sorted(events, key=_last_seen):
        source = (each.get("source") or {}).get("component") or each.get("reportingComponent") or ""
        told = [each.get("type", ""), each.get("reason", ""), _ages(each, now), source, each.get("message", "").strip()]
        yield "  " + "\t".join(told)


def _last_seen(event: Mapping[str, Any]) -> str:
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or "")


def _ages(event: Mapping[str, Any], now: float) -> str:
    """The age of an event; of a repeated one also the count and the age of the first."""
    first = age(event.get("eventTime") or event.get("firstTimestamp"), now)
    series = event.get("series")
    if series:
        return f"{age(series['lastObservedTime'], now)} (x{series['count']} over {first})"
    if (event.get("count") or 0) > 1:
        return f"{age(event.get('lastTimestamp'), now)} (x{event['count']} over {first})"
    return first
