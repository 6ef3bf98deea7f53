"""Requests of a proof: sent to the fork under the right identity, and recorded with their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from simkit.analysis.escalation.prove.credentials import Credential, node_identity
from simkit.analysis.escalation.prove.proving_fork import NotExecutable, ProvingFork, message_of
from simkit.analysis.escalation.table.primitive import Operation
from simkit.analysis.rbac.subject import identity_of, parse_subject
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.identity import AUTHENTICATED, Identity, administrator, service_account
from simkit.meta.message import Request, Response
from simkit.seams.caveats import assumed_answers

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

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


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

    def ask(
        self,
        operation: Operation,
        method: str,
        path: str,
        body: Any,
        values: Mapping[str, Any],
        *,
        content_type: str = "application/json",
    ) -> Response:
        """The answer to a request of the operation's actor. Raises Refused unless it succeeds."""
        if operation.by == "attacker":
            answer = self.attempt(method, path, body, content_type=content_type)
            actor, assumption = self.credential.user, ""
        else:
            answer, actor = self.played(operation, Request.of(method, path, body, content_type=content_type), values)
            assumption = operation.because
        if answer.stream is not None:
            answer.stream.close()
        self.keep(answer, f"{method} {path}", "" if answer.succeeded else message_of(answer), actor, assumption)
        if not answer.succeeded and answer.status not in operation.accept:
            if answer.body.startswith(UNKNOWN_PATH):
                raise NotExecutable(message_of(answer).strip() + f": {path}")
            raise Refused(message_of(answer))
        return answer

    def attempt(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] = NO_HEADERS,
        accept: Callable[[Response], bool] = lambda answer: answer.status not in (401, 403),
    ) -> Response:
        """The answer to the attacker: under its present identity, or else under an earlier one."""
        first = self.send(method, path, body, by=self.credential, content_type=content_type, headers=headers)
        if accept(first):
            return first
        for credential in reversed(self.wallet):
            if credential is not self.credential:
                answer = self.send(method, path, body, by=credential, content_type=content_type, headers=headers)
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
        who, unasked = actor or self.credential.user, assumed_answers(answer.warnings)
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
