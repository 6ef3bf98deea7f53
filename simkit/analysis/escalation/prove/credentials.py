"""Credentials of the attacker on the fork, and the certificates that stand for those of the cluster's authority."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.rbac.subject import identity_of, implied_groups
from simkit.logic.rbac.binding import GROUP
from simkit.meta.domain import AUTHENTICATION_GROUP
from simkit.meta.identity import AUTHENTICATED, Identity, administrator
from simkit.meta.message import Request
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

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


AUTHORITY: Final = "proof-authority"


@cache
def _key(name: str) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _name(user: str, groups: Sequence[str]) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def certificate_request(user: str, groups: Sequence[str] = ()) -> str:
    """A PKCS#10 request for a user with groups: PEM in base64, as the API takes it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    made = x509.CertificateSigningRequestBuilder().subject_name(_name(user, groups)).sign(_key("user"), hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


def _issued(subject: x509.Name, key: Any, now: datetime | None = None) -> x509.CertificateBuilder:
    """An unsigned certificate of the authority, valid for a day."""
    from cryptography import x509

    start = now or datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(_name(AUTHORITY, ()))
    builder = builder.public_key(key).serial_number(x509.random_serial_number())
    return builder.not_valid_before(start).not_valid_after(start + timedelta(days=1))


@cache
def authority() -> str:
    """The authority's own certificate as PEM, as bundles of trust anchors hold them."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    builder = _issued(_name(AUTHORITY, ()), _key("authority").public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(_key("authority"), hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def signed(request: str, now: datetime | None = None) -> tuple[str, str, tuple[str, ...]]:
    """A certificate for a request as PEM in base64, with the user and the groups that it names."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.x509.oid import NameOID

    asked = x509.load_pem_x509_csr(base64.b64decode(request))
    certificate = _issued(asked.subject, asked.public_key(), now).sign(_key("authority"), hashes.SHA256())
    user = asked.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[-1].value
    groups = [str(one.value) for one in asked.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    return base64.b64encode(certificate.public_bytes(serialization.Encoding.PEM)).decode(), str(user), tuple(groups)
