"""Audit events as bytes: JSON lines, the legacy format, and truncated events.

Upstream: k8s.io/apiserver/pkg/audit/format.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from simkit.engine.pipeline.audit.policy import AUDIT_GROUP
from simkit.engine.pipeline.audit.settings import Form, Truncation
from simkit.meta.fielderror import quoted

Event = dict[str, Any]
TRUNCATED: Final = f"{AUDIT_GROUP}/truncated"
_LARGE: Final = ("requestObject", "responseObject")


def json_line(event: Mapping[str, Any]) -> bytes:
    """An event as a line of JSON."""
    return orjson.dumps(event) + b"\n"


def legacy_line(event: Mapping[str, Any]) -> bytes:
    r"""An event as a line in the legacy format.

    Examples
    --------
    >>> event = {"stageTimestamp": "2024-04-17T10:00:00.000000Z", "auditID": "x", "stage": "ResponseComplete",
    ...          "verb": "get", "requestURI": "/", "user": {"username": "ann"}, "responseStatus": {"code": 200}}
    >>> line = legacy_line(event).decode()
    >>> print(line.partition(" groups")[0])
    2024-04-17T10:00:00.000000Z AUDIT: id="x" stage="ResponseComplete" ip="<unknown>" method="get" user="ann"
    >>> print(line.partition("<none>")[2].partition(" user-agent")[0])
    " as="<self>" asgroups="<lookup>"
    """
    user, acting = event.get("user") or {}, event.get("impersonatedUser")
    sources = event.get("sourceIPs") or ()
    words = {
        "id": event.get("auditID", ""),
        "stage": event.get("stage", ""),
        "ip": sources[0] if sources else "<unknown>",
        "method": event.get("verb", ""),
        "user": user.get("username") or "<none>",
        "groups": _groups(user) or "<none>",
        "as": acting.get("username") if acting else "<self>",
        "asgroups": (_groups(acting) if acting else "") or "<lookup>",
        "user-agent": event.get("userAgent", ""),
        "namespace": (event.get("objectRef") or {}).get("namespace") or "<none>",
        "uri": event.get("requestURI", ""),
    }
    status = event.get("responseStatus")
    words["response"] = str(status["code"]) if status else "<deferred>"
    shown = " ".join(f"{name}={quoted(word)}" for name, word in words.items())
    return f"{event.get('stageTimestamp', '')} AUDIT: {shown}\n".encode()


def _groups(user: Mapping[str, Any]) -> str:
    return ",".join(map(quoted, user.get("groups") or ()))


LINES: Final[Mapping[Form, Callable[[Mapping[str, Any]], bytes]]] = {"json": json_line, "legacy": legacy_line}
"""The function that writes an event in each format."""


def fitted(events: Sequence[Event], limits: Truncation) -> tuple[list[list[Event]], int]:
    """Events in batches within the size limit, and the number of events that were dropped.

    An event that is too large goes without its objects, and says so.
    """
    batches: list[list[Event]] = [[]]
    size = lost = 0
    for event, length in _fitting(events, limits.max_event_size):
        if event is None:
            lost += 1
            continue
        if batches[-1] and size + length > limits.max_batch_size:
            batches.append([])
            size = 0
        batches[-1].append(event)
        size += length
    return [batch for batch in batches if batch], lost


def _fitting(events: Sequence[Event], most: int) -> Iterator[tuple[Event | None, int]]:
    for event in events:
        length = len(orjson.dumps(event))
        if length <= most:
            yield event, length
            continue
        notes = {**(event.get("annotations") or {}), TRUNCATED: "true"}
        short = {**{name: value for name, value in event.items() if name not in _LARGE}, "annotations": notes}
        length = len(orjson.dumps(short))
        yield (short, length) if length <= most else (None, 0)
