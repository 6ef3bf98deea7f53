"""Requests recorded in an audit log: user, user agent, resource and response code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from simkit.analysis.audit_log.events import AuditLog, FirstStage, read_events
from simkit.meta.identity import Identity
from simkit.meta.names import GroupVersion
from simkit.meta.objects import at

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
class RecordedRequest:
    """One request of an audit log."""

    identity: Identity
    """The identity that the request was carried out as: the impersonated one, if any."""
    caller: str
    """The identity that sent the request."""
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
    body: Any = None
    """The request body, if the log has it."""

    @property
    def method(self) -> str:
        return METHODS.get(self.verb, self.verb.upper())

    @property
    def api_version(self) -> str:
        return str(self.group_version)


def recorded_requests(log: AuditLog, *, paths: bool = False) -> Iterator[RecordedRequest]:
    """The requests for resources in an audit log, in its order; the stages of a request are joined.

    With ``paths`` also those for paths that are no resources, such as ``/metrics``, with an empty resource.
    """
    first = FirstStage()
    for event in read_events(log):
        reference = event.get("objectRef") or {}
        if (reference.get("resource") or (paths and event.get("requestURI") and not reference)) and first(event):
            yield _recorded(event, reference)


def _recorded(event: Mapping[str, Any], reference: Mapping[str, Any]) -> RecordedRequest:
    user = event.get("impersonatedUser") or event.get("user") or {}
    return RecordedRequest(
        Identity(
            user.get("username") or "", tuple(user.get("groups") or ()), user.get("uid") or "", user.get("extra") or {}
        ),
        at(event, "user", "username") or "",
        event.get("userAgent") or "",
        event.get("verb") or "",
        event.get("requestURI") or "",
        GroupVersion(reference.get("apiGroup") or "", reference.get("apiVersion") or ""),
        reference.get("resource") or "",
        reference.get("subresource") or "",
        reference.get("namespace") or "",
        reference.get("name") or "",
        int(at(event, "responseStatus", "code") or 0),
        event.get("requestReceivedTimestamp") or "",
        event.get("requestObject"),
    )
