"""Credentials of the attacker on the fork."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.rbac.subject import identity_of, implied_groups
from simkit.logic.rbac.binding import GROUP
from simkit.meta.domain import AUTHENTICATION_GROUP
from simkit.meta.identity import AUTHENTICATED, Identity, administrator
from simkit.meta.message import Request
from simkit.seams.snapshot import Sandbox

BOOTSTRAP_USER: Final = "system:bootstrap:b00057"
REVIEWS: Final = f"/apis/{AUTHENTICATION_GROUP}/v1/tokenreviews"
SOMEBODY: Final = "somebody"
SOME_NODE: Final = "some-node"
"""The name of the node in proofs on a dump that has no nodes, such as one of access alone."""


@dataclass(frozen=True)
class Credential:
    """An identity that the attacker holds. ``headers`` impersonate it, ``by`` says how it was obtained."""

    identity: Identity
    by: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def user(self) -> str:
        """The user name under which requests are answered."""
        return self.headers.get("impersonate-user") or self.identity.user or SOMEBODY

    @property
    def seen(self) -> Identity:
        """The identity that the authorizer sees."""
        if not self.headers:
            return self.identity
        groups = (self.headers["impersonate-group"],) if "impersonate-group" in self.headers else ()
        return Identity(self.user, (*groups, AUTHENTICATED))


def node_identity(values: Mapping[str, Any]) -> Identity:
    """The identity of the kubelet on the node of a step, or of some node if the dump has none."""
    return Identity(f"system:node:{values['node'] or SOME_NODE}", ("system:nodes", AUTHENTICATED))


def initial_credential(state: AttackState, groups: tuple[str, ...] = ()) -> Credential:
    """The credential of a subject at the start; a member of a group gets a name."""
    subject = state.subject
    if subject is None:
        return Credential(Identity("", groups), "code in a pod")
    known = identity_of(subject, groups)
    if subject.kind == GROUP:
        known = Identity(SOMEBODY, (subject.name, *implied_groups(subject.name)))
    return Credential(known, "as at the start")


def impersonating(credential: Credential, state: AttackState, mask: str) -> Credential:
    """A credential that impersonates by headers. ``mask`` is the user name that goes with a group."""
    if state.kind == GROUP:
        headers = {"impersonate-user": mask or SOMEBODY, "impersonate-group": state.name}
    else:
        assert state.subject is not None
        headers = {"impersonate-user": identity_of(state.subject).user}
    return Credential(credential.identity, f"impersonated by {credential.user}", headers)


def token_credential(sandbox: Sandbox, token: str, expected: AttackState, by: str) -> Credential:
    """The identity of an issued token, by TokenReview; the expected identity if the server serves no reviews."""
    found = reviewed(sandbox, token, by)
    if found is not None:
        return found
    assert expected.subject is not None
    return Credential(identity_of(expected.subject), by)


def reviewed(sandbox: Sandbox, token: str, by: str) -> Credential | None:
    """The identity of a token by TokenReview; None if the server does not know the token."""
    body = {"apiVersion": f"{AUTHENTICATION_GROUP}/v1", "kind": "TokenReview", "spec": {"token": token}}
    answer = sandbox.perform(Request.of("POST", REVIEWS, body), identity=administrator())
    status: Mapping[str, Any] = (answer.object or {}).get("status") or {} if answer.succeeded else {}
    if not status.get("authenticated"):
        return None
    return Credential(_of_review(status["user"]), f"{by}, as the server reviews the token")


def _of_review(user: Mapping[str, Any]) -> Identity:
    extra = {key: tuple(values) for key, values in (user.get("extra") or {}).items()}
    return Identity(user.get("username") or "", tuple(user.get("groups") or ()), user.get("uid") or "", extra)
