"""Actions, as authorizers are asked about them, and recorded access requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.attributes import Attributes
from simkit.meta.domain import AUTHORIZATION_GROUP
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request
from simkit.seams.snapshot import Sandbox


class Action(NamedTuple):
    """A verb on a resource, a subresource, one object of them, or on a non-resource URL."""

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
        if self.url:
            return Attributes(identity, self.verb, path=self.url, is_resource=False)
        what = (self.api_group, "", self.resource, self.subresource, self.namespace, self.name)
        return Attributes(identity, self.verb, *what)

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
