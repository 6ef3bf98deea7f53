"""Actions, as authorizers are asked about them, and the access requests that an audit log records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, unquote

from simkit.analysis.audit_log.events import DECISION, AuditLog, FirstStage, read_events
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.attributes import Attributes
from simkit.meta.domain import AUTHENTICATION_GROUP, AUTHORIZATION_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity, administrator, split_service_account
from simkit.meta.message import Request
from simkit.meta.objects import Object
from simkit.seams.snapshot import Sandbox


class Action(NamedTuple):
    """A verb on a resource, a subresource, one object of them, or on a non-resource URL: ``Question(*action)``."""

    verb: str
    api_group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    url: str = ""

    @property
    def resource_path(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    @classmethod
    def of(cls, question: Question) -> Action:
        """The action of a question; without a namespace or a name if any would do."""
        what = (question.group, question.resource, question.subresource)
        return cls(question.verb, *what, question.namespace or "", question.name or "", question.path)

    @classmethod
    def of_piece(cls, piece: Rule, namespace: str) -> Action:
        """One action that a rule of a single verb and resource, or a single path, allows."""
        if piece.paths:
            return cls(piece.verbs[0], url=piece.paths[0].rstrip(ALL) or "/")
        plural, _, subresource = piece.resources[0].partition("/")
        name = piece.resource_names[0] if piece.resource_names else ""
        return cls(piece.verbs[0], piece.api_groups[0], plural, subresource, namespace, name)

    def ask(self, identity: Identity) -> Attributes:
        """The attributes for the authorizer."""
        what = (self.api_group, "", self.resource, self.subresource, self.namespace, self.name, self.url)
        return Attributes(identity, self.verb, *what, is_resource=not self.url)

    def rule(self, *, named: bool = True) -> Rule:
        """The rule that allows exactly this action."""
        if self.url:
            return Rule((self.verb,), paths=(self.url,))
        names = (self.name,) if named and self.name else ()
        return Rule((self.verb,), (self.api_group,), (self.resource_path,), names)

    def __str__(self) -> str:
        if self.url:
            return f"{self.verb} {self.url}"
        what = self.resource_path + (f".{self.api_group}" if self.api_group else "")
        return (
            f"{self.verb} {what}"
            + (f" {self.name!r}" if self.name else "")
            + (f" in {self.namespace}" if self.namespace else "")
        )


Use = tuple[Identity, Action]
"""An action of somebody."""


def review(action: Action, identity: Identity | None = None) -> tuple[str, dict[str, Any]]:
    """The path and body of an access review: by oneself, or about a subject."""
    if action.url:
        spec: dict[str, Any] = {"nonResourceAttributes": {"verb": action.verb, "path": action.url}}
    else:
        fields = {"group" if name == "api_group" else name: value for name, value in action._asdict().items() if value}
        spec = {"resourceAttributes": fields}
    kind = "SelfSubjectAccessReview"
    if identity is not None:
        kind = "SubjectAccessReview"
        spec |= {"user": identity.user, "groups": list(identity.groups)}
    body = {"apiVersion": f"{AUTHORIZATION_GROUP}/v1", "kind": kind, "spec": spec}
    return f"/apis/{AUTHORIZATION_GROUP}/v1/{kind.lower()}s", body


def may(sandbox: Sandbox, identity: Identity, action: Action) -> bool:
    """True if the authorizers of a cluster allow an identity an action."""
    answer = sandbox.perform(Request.of("POST", *review(action, identity)), identity=administrator())
    status: Mapping[str, Any] = (answer.object or {}).get("status") or {} if answer.succeeded else {}
    return bool(status.get("allowed"))


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """An action of an identity, and the recorded decision."""

    identity: Identity
    action: Action
    allowed: bool
    body: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    implied: bool = field(default=False, compare=False)
    """Whether it is a permission that an impersonation needs, and no request of its own."""


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
    yield from access_requests_among(read_events(log))


def access_requests_among(events: Iterable[Object]) -> Iterator[AccessRequest]:
    """The access requests among events, as ``read_access_requests`` gives them."""
    found, first = False, FirstStage()
    for event in events:
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
    yield AccessRequest(_identity(impersonated) if impersonated else sender, action, allowed, bodies)
    if impersonated and allowed:
        yield from (AccessRequest(sender, one, True, implied=True) for one in _impersonations(impersonated))


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
