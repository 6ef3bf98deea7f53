"""The permissions that the requests in an audit log needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from simkit.analysis.audit_log.events import DECISION, AuditLog, FirstStage, read_events
from simkit.analysis.least_privilege.recorded_access import AccessRequest, Action
from simkit.meta.domain import AUTHENTICATION_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity, split_service_account
from simkit.meta.objects import Object

NAMELESS: Final = ("create", "deletecollection")


def read_access_requests(log: AuditLog) -> Iterator[AccessRequest]:
    """The access requests in a log, one per event with a decision.

    Parameters
    ----------
    log
        In any of the forms of ``AuditLog``.

    Returns
    -------
    iterator of AccessRequest
        The identity, the action and the decision of each event.

    Raises
    ------
    SimkitError
        For a file that is not there, and for a log without any audit event.

    Examples
    --------
    >>> event = {"kind": "Event", "stage": "ResponseComplete", "verb": "get", "user": {"username": "ann"},
    ...          "objectRef": {"resource": "pods", "namespace": "dev", "name": "web"}, "responseStatus": {"code": 200}}
    >>> [str(use.action) for use in read_access_requests([event])]
    ["get pods 'web' in dev"]
    """
    found, first = False, FirstStage()
    for event in read_events(log):
        found = True
        if event.get("stage") != "RequestReceived" and first(event):
            yield from access_requests_of(event)
    if not found:
        raise SimkitError("no audit events were found in the log; it wants audit events as JSON, one a line")


def access_requests_of(event: Object) -> Iterator[AccessRequest]:
    """The access requests of an event: of the identity it was answered as, and of its impersonation."""
    code = (event.get("responseStatus") or {}).get("code")
    decision = (event.get("annotations") or {}).get(DECISION)
    if code == 401 or not event.get("verb"):
        return
    allowed = decision == "allow" if decision else code != 403
    sender = _identity(event.get("user") or {})
    impersonated = event.get("impersonatedUser")
    action = action_of(event)
    if action is None:
        return
    bodies = event.get("requestObject") if allowed else None
    yield AccessRequest(_identity(impersonated) if impersonated else sender, action, allowed, body=bodies)
    if impersonated and allowed:
        yield from (AccessRequest(sender, one, True) for one in _impersonations(impersonated))


def _identity(user: Mapping[str, Any]) -> Identity:
    return Identity(user.get("username") or "", tuple(user.get("groups") or ()))


def _impersonations(impersonated: Mapping[str, Any]) -> Iterator[Action]:
    """The permissions that an impersonation needs. Groups that the server adds by itself need none."""
    account = split_service_account(impersonated.get("username") or "")
    if account:
        yield Action("impersonate", "", "serviceaccounts", "", account[0], account[1])
    else:
        yield Action("impersonate", "", "users", "", "", impersonated.get("username") or "")
    for group in impersonated.get("groups") or ():
        if not group.startswith("system:authenticated") and not (
            account and group.startswith("system:serviceaccounts")
        ):
            yield Action("impersonate", "", "groups", "", "", group)
    for key, values in (impersonated.get("extra") or {}).items():
        for value in values:
            yield Action("impersonate", AUTHENTICATION_GROUP, "userextras", key, "", value)
    if impersonated.get("uid"):
        yield Action("impersonate", AUTHENTICATION_GROUP, "uids", "", "", impersonated["uid"])


def action_of(event: Object) -> Action | None:
    """The request of an event as the authorizer saw it; None for an event without the necessary fields."""
    verb, reference = str(event["verb"]), event.get("objectRef") or {}
    path, _, query = str(event.get("requestURI") or "").partition("?")
    if not reference.get("resource"):
        return Action(verb.lower(), url=unquote(path)) if path else None
    name, subresource = reference.get("name") or "", reference.get("subresource") or ""
    if verb in NAMELESS and not subresource:
        name = ""  # the event names what was made; the authorizer was asked before that
    if verb in ("list", "watch", "deletecollection"):
        name = name or _selected(query)
    namespace = reference.get("namespace") or ""
    return Action(verb, reference.get("apiGroup") or "", reference["resource"], subresource, namespace, name)


def _selected(query: str) -> str:
    """The single name that a field selector selects."""
    for selector in parse_qs(query).get("fieldSelector", ()):
        for part in selector.split(","):
            key, _, value = part.replace("==", "=").partition("=")
            if key == "metadata.name":
                return value
    return ""
