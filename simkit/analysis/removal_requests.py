"""Requests as an audit log recorded them: who asked what with which program, and what the answer was."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from simkit.meta.identity import Identity
from simkit.meta.names import GroupVersion
from simkit.meta.objects import at

Requests = str | Path | Iterable[Mapping[str, Any]]
"""An audit log: a file of JSON lines (also with .gz), or decoded events."""

METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request of an audit log."""

    identity: Identity
    """Who it was carried out as: the impersonated, where somebody impersonated."""
    caller: str
    """Who sent it."""
    agent: str
    verb: str
    uri: str
    group_version: GroupVersion
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    time: str
    deprecated: bool
    """Whether the server marked it as a request to a deprecated version."""
    body: Any = None
    """The object that was sent, where the log has it."""

    @property
    def method(self) -> str:
        return METHODS.get(self.verb, self.verb.upper())

    @property
    def api_version(self) -> str:
        return str(self.group_version)


def recorded(requests: Requests, *, deprecated_by: str = "") -> Iterator[Recorded]:
    """The requests for resources in an audit log, in its order, each once however many stages it has.

    ``deprecated_by`` is the annotation that marks requests to deprecated versions.
    """
    seen: set[str] = set()
    for event in _events(requests):
        reference, audit_id = event.get("objectRef"), event.get("auditID") or ""
        if not reference or not reference.get("resource") or (audit_id and audit_id in seen):
            continue
        seen.add(audit_id)
        yield _recorded(event, reference, deprecated_by)


def _events(requests: Requests) -> Iterable[Mapping[str, Any]]:
    if not isinstance(requests, str | Path):
        return requests
    raw = Path(requests).read_bytes()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    return (orjson.loads(line) for line in text.splitlines() if line.strip())


def _recorded(event: Mapping[str, Any], reference: Mapping[str, Any], deprecated_by: str) -> Recorded:
    user = event.get("impersonatedUser") or event.get("user") or {}
    annotations = event.get("annotations") or {}
    return Recorded(
        Identity(
            user.get("username") or "", tuple(user.get("groups") or ()), user.get("uid") or "", user.get("extra") or {}
        ),
        at(event, "user", "username") or "",
        event.get("userAgent") or "",
        event.get("verb") or "",
        event.get("requestURI") or "",
        GroupVersion(reference.get("apiGroup") or "", reference.get("apiVersion") or ""),
        reference["resource"],
        reference.get("subresource") or "",
        reference.get("namespace") or "",
        reference.get("name") or "",
        int(at(event, "responseStatus", "code") or 0),
        event.get("requestReceivedTimestamp") or "",
        annotations.get(deprecated_by) == "true" if deprecated_by else False,
        event.get("requestObject"),
    )
