"""Requests of a proof: the credentials that the attacker holds, and what was sent to the fork under each of them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.escalation.prove.proving_fork import NotExecutable, ProvingFork
from simkit.analysis.escalation.table.primitive import Operation
from simkit.analysis.rbac.subject import identity_of, implied_groups, parse_subject
from simkit.logic.rbac.binding import GROUP
from simkit.meta.domain import AUTHENTICATION_GROUP, SYSTEM_NAMESPACE
from simkit.meta.identity import AUTHENTICATED, Identity, administrator, service_account
from simkit.meta.message import Request, Response
from simkit.seams.caveats import assumed_answers
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
    def actor(self) -> str:
        """The user name for people; of a group's member, who has none, that it is one."""
        groups = [self.headers.get("impersonate-group", ""), *self.identity.groups]
        group = next((one for one in groups if one), "")
        return member_of(group) if self.user == SOMEBODY and group else self.user

    @property
    def seen(self) -> Identity:
        """The identity that the authorizer sees."""
        if not self.headers:
            return self.identity
        groups = (self.headers["impersonate-group"],) if "impersonate-group" in self.headers else ()
        return Identity(self.user, (*groups, AUTHENTICATED))


def member_of(group: str) -> str:
    """The words for a member of a group who has no name."""
    return f"a member of {group}"


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
    return Credential(credential.identity, f"impersonated by {credential.actor}", headers)


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
    user: Mapping[str, Any] = status["user"]
    extra = {key: tuple(values) for key, values in (user.get("extra") or {}).items()}
    seen = Identity(user.get("username") or "", tuple(user.get("groups") or ()), user.get("uid") or "", extra)
    return Credential(seen, f"{by}, as the server reviews the token")


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


def _issued(subject: x509.Name, key: Any) -> x509.CertificateBuilder:
    """An unsigned certificate of the authority, valid for a day."""
    from cryptography import x509

    start = datetime.now(UTC)
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


def signed(request: str) -> tuple[str, str, tuple[str, ...]]:
    """A certificate for a request as PEM in base64, with the user and the groups that it names."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.x509.oid import NameOID

    asked = x509.load_pem_x509_csr(base64.b64decode(request))
    certificate = _issued(asked.subject, asked.public_key()).sign(_key("authority"), hashes.SHA256())
    user = asked.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[-1].value
    groups = [str(one.value) for one in asked.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    return base64.b64encode(certificate.public_bytes(serialization.Encoding.PEM)).decode(), str(user), tuple(groups)


REFUSALS: Final = (401, 403, 404, 422)
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
NAMESPACE: Final = "the namespace exists, although the dump does not hold it"
UNKNOWN_PATH: Final = b"404 page not found"
CONTROLLERS: Final = {
    "deployments": "replicaset-controller",
    "replicasets": "replicaset-controller",
    "daemonsets": "daemon-set-controller",
    "statefulsets": "statefulset-controller",
    "jobs": "job-controller",
    "cronjobs": "job-controller",
    "replicationcontrollers": "replication-controller",
}


class Refused(Exception):
    """The server refused a request."""


@dataclass(frozen=True)
class Performed:
    """One request with its answer, or an assumption that needs no request."""

    step: int
    primitive: str
    actor: str
    request: str
    status: int
    message: str = ""
    assumption: str = ""

    def __str__(self) -> str:
        if not self.request:
            return f"{self.actor}"
        return f"{self.actor}: {self.request} -> {self.status}" + (f" {self.message}" if self.message else "")


class Session:
    """A fork with all credentials obtained on it, and the record of all requests."""

    def __init__(self, sandbox: ProvingFork, start: Credential) -> None:
        self.sandbox, self.credential = sandbox, start
        sandbox.on_supply = lambda namespace: self.note(f"namespace {namespace}", NAMESPACE)
        self.wallet: list[Credential] = [start]
        self.pending: Credential | None = None
        """The credential obtained in the present step; it is used from the next step on."""
        self.printed: dict[tuple[str, str], str] = {}
        """The output of commands that read a token, by the namespace and name of their pod."""
        self.performed: list[Performed] = []
        self.number, self.primitive = 0, ""
        """The number and the primitive of the present step."""

    def obtain(self, credential: Credential) -> None:
        """Add a credential, to be used after the step."""
        self.pending = credential

    def end_step(self) -> None:
        """Continue as the identity that the step gave."""
        if self.pending is not None:
            self.credential, self.pending = self.pending, None
            self.wallet.append(self.credential)

    def stored(self, path: str) -> Mapping[str, Any]:
        """The object at a path, in the version of the path. Raises NotExecutable if it does not exist."""
        answer = self.sandbox.perform(Request.of("GET", path), identity=administrator())
        if not answer.succeeded:
            raise NotExecutable(f"there is nothing at {path} to change")
        found: Mapping[str, Any] = answer.object
        return found

    def attempt(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Response:
        """The answer to the attacker: under its present identity, or else under an earlier one."""

        def ask(credential: Credential) -> Response:
            return self.send(method, path, body, by=credential, content_type=content_type, headers=headers)

        return self.under_any(ask, lambda answer: answer.status not in (401, 403))

    def under_any(self, ask: Callable[[Credential], Response], accept: Callable[[Response], bool]) -> Response:
        """The answer under the present identity, or else the first accepted one under an earlier identity, the latest
        first, which then is the present one."""
        first = ask(self.credential)
        if accept(first):
            return first
        for credential in reversed(self.wallet):
            if credential is not self.credential:
                answer = ask(credential)
                if accept(answer):
                    self.credential = credential
                    return answer
        return first

    def send(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        by: Credential | None,
        content_type: str = "application/json",
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Response:
        credential = by or Credential(administrator(), "an administrator asks")
        told = {**headers, **credential.headers}
        request = Request.of(method, path, body, content_type=content_type, headers=told)
        return self.sandbox.perform(request, identity=credential.identity)

    def played(self, operation: Operation, request: Request, values: Mapping[str, Any]) -> tuple[Response, str]:
        """The answer to another actor; an administrator acts for it if its own rights are not enough."""
        identity = other(operation, values)
        answer = self.sandbox.perform(request, identity=identity)
        if answer.status != 403 or operation.by in ("accomplice", "administrator"):
            return answer, identity.user
        return self.sandbox.perform(request, identity=administrator()), f"{identity.user}, played by an administrator"

    def keep(
        self,
        answer: Response,
        request: str,
        message: str = "",
        actor: str = "",
        assumption: str = "",
        allowed: bool | None = None,
    ) -> None:
        """Record a request with its answer; of a review also the decision."""
        if allowed is not None:
            message = f"{'allowed' if allowed else 'not allowed'}" + (f": {message}" if message else "")
        who, unasked = actor or self.credential.actor, assumed_answers(answer.warnings)
        assumption = "; ".join(filter(None, (assumption, unasked)))
        self.performed.append(Performed(self.number, self.primitive, who, request, answer.status, message, assumption))

    def note(self, actor: str, assumption: str) -> None:
        """Record an assumption that needs no request."""
        self.performed.append(Performed(self.number, self.primitive, actor, "", 0, "", assumption))


def other(operation: Operation, values: Mapping[str, Any]) -> Identity:
    """The identity of an actor other than the attacker."""
    if operation.by == "kubelet":
        return node_identity(values)
    if operation.by == "controller":
        resource = values.get("resource")
        name = CONTROLLERS.get(getattr(resource, "resource", ""), "replicaset-controller")
        return service_account(SYSTEM_NAMESPACE, "service-account-controller" if operation.accept else name)
    if operation.by in ("approver", "signer"):
        return service_account(SYSTEM_NAMESPACE, "certificate-controller")
    if operation.by == "token-controller":
        return Identity("system:kube-controller-manager", (AUTHENTICATED,))
    if operation.by == "accomplice":
        return identity_of(parse_subject(values["accomplice"]))
    return administrator()
