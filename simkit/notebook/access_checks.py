"""Checks of exercises on a fork: requests of subjects, statements about the cluster, objects to accept or refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from simkit.analysis.access.can import can
from simkit.analysis.rbac.subject import identity_of
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.message import Request
from simkit.meta.objects import Object
from simkit.notebook.learner_code import run_learner_code
from simkit.notebook.verdict import Note

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster
    from simkit.meta.identity import Identity


_METHODS: Final = {
    **dict.fromkeys(("get", "list", "watch"), "GET"),
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
_COLLECTION: Final = ("list", "watch", "create", "deletecollection")
_ANY: Final = "any"
"""The object name in requests that need one and have none."""
_FORBIDDEN: Final = 403


@dataclass(frozen=True, slots=True)
class AccessCheck:
    """A request of a subject, with the expected decision. Make one with ``must`` or ``must_not``."""

    subject: str
    verb: str
    resource: str
    namespace: str = ""
    name: str = ""
    allowed: bool = True
    hint: str = ""
    """A hint for the learner when the answer is wrong."""

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        name = f" {self.name}" if self.name else ""
        return f"{self.subject} {'can' if self.allowed else 'cannot'} {self.verb} {self.resource}{name}{where}"

    def request(self, cluster: Cluster) -> Request:
        """The request as a client would send it, with an empty body, so that only access decides and nothing is
        created.

        Raises
        ------
        SimkitError, UnknownResource
            For verbs that no request has, and words that name no resource.
        """
        method = _METHODS.get(self.verb)
        if method is None:
            raise SimkitError(f"{self.verb!r} is no verb of requests; use one of {', '.join(_METHODS)}")
        word, _, subresource = self.resource.partition("/")
        resource = cluster.engine.catalogue.lookup(word)
        path = resource.path
        if resource.namespaced and self.namespace:
            path += f"/namespaces/{quote(self.namespace, safe='')}"
        path += f"/{resource.resource}"
        if self.name or subresource or self.verb not in _COLLECTION:
            path += f"/{quote(self.name or _ANY, safe='')}"
        path += f"/{subresource}" if subresource else ""
        query = "" if method == "GET" else "?dryRun=All"
        if self.verb == "watch":
            query = "?watch=1&timeoutSeconds=1"
        return Request.of(method, path + query, {} if method in ("POST", "PUT", "PATCH") else None)

    def tried(self, cluster: Cluster) -> Tried:
        """The outcome of the request on a cluster, with an explanation.

        Admission may forbid something too; the message tells whether it was access control, which names the user.
        """
        request, identity = self.request(cluster), identity_of(self.subject)
        answer = cluster.perform(request, identity=identity)
        status = answer.status
        refused = status == _FORBIDDEN and f'User "{identity.user}" cannot ' in answer.object["message"]
        line = f"{request.method} {request.path}"
        if refused is not self.allowed:
            return Tried(self, line, status, passed=True)
        explained = can(
            cluster.snapshot(), self.subject, self.verb, self.resource, name=self.name, namespace=self.namespace or None
        )
        return Tried(self, line, status, passed=False, why=tuple(explained.explanation()))


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of a check: the request, the answer, and an explanation if another answer was expected."""

    attempt: AccessCheck
    request: str
    status: int
    passed: bool
    """True if the server gave the expected answer."""
    why: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.passed:
            return str(self.attempt)
        asked = f"{self.request} of {self.attempt.subject}"
        if self.attempt.allowed:
            return f"{asked} must pass, and was refused ({self.status})"
        return f"{asked} must be refused, and passed"


def must(subject: str, verb: str, resource: str, **more: Any) -> AccessCheck:
    """A request that must pass: ``must("user:ann", "get", "pods", namespace="shop", hint="...")``."""
    return AccessCheck(subject, verb, resource, **more)


def must_not(subject: str, verb: str, resource: str, **more: Any) -> AccessCheck:
    """A request that must be refused, as for ``must``."""
    return AccessCheck(subject, verb, resource, allowed=False, **more)


SHOWN: Final = 4
"""Lines of a message after its first that are shown."""


@dataclass(frozen=True, slots=True)
class StateCheck:
    """A statement about the cluster after an answer. Make one with ``must_hold``."""

    text: str
    fault: Callable[[Cluster], str | None]
    hint: str = ""

    def note(self, trial: Cluster) -> Note:
        """The statement with what is wrong with it on a fork. An error, such as a missing object, makes it wrong."""
        outcome = run_learner_code(lambda: self.fault(trial))
        fault = "\n".join(outcome.errors) or outcome.value
        if not fault:
            return Note(True, self.text)
        return Note(False, f"not so: {self.text}", (*fault.splitlines(), *([self.hint] if self.hint else [])))


@dataclass(frozen=True, slots=True)
class WriteCheck:
    """An object that the server must accept or refuse. Make one with ``must_accept`` or ``must_refuse``."""

    text: str
    obj: Object
    accepted: bool = True
    hint: str = ""
    subject: str = ""
    """The writer; by default an administrator."""
    because: str = ""
    """A part of the message with which it must be refused."""

    def note(self, trial: Cluster) -> Note:
        """The outcome of writing the object on a fork of the fork."""
        fault = self._fault(self._refusal(trial.fork()))
        if not fault:
            return Note(True, f"{self.text}: {'accepted' if self.accepted else 'refused'}")
        return Note(False, self.text, (*fault.splitlines(), *([self.hint] if self.hint else [])))

    def _refusal(self, trial: Cluster) -> str:
        """The message with which the object is refused when it is created, or replaced where it is there already."""
        identity = identity_of(self.subject) if self.subject else None
        try:
            trial.create(self.obj, identity=identity)
        except StatusError as refusal:
            if refusal.reason != "AlreadyExists":
                return str(refusal)
            return self._refusal_of_update(trial, identity)
        return ""

    def _refusal_of_update(self, trial: Cluster, identity: Identity | None) -> str:
        try:
            trial.apply([self.obj], identity=identity)
        except StatusError as refusal:
            return str(refusal)
        return ""

    def _fault(self, message: str) -> str:
        if self.accepted:
            return f"it must be accepted, and was refused: {_shortened(message)}" if message else ""
        if not message:
            return "it must be refused, and was accepted"
        if self.because not in message:
            return f"it is refused, but for another reason than {self.because!r}: {_shortened(message)}"
        return ""


def _shortened(message: str) -> str:
    """The first lines of a message; a refusal to give rights away names every one of them in a line of its own."""
    first, *more = message.splitlines() or [""]
    left = [f"and {len(more) - SHOWN} lines more"] if len(more) > SHOWN else []
    return "\n".join([first, *more[:SHOWN], *left])


def must_hold(text: str, fault: Callable[[Cluster], str | None], *, hint: str = "") -> StateCheck:
    """A statement that must be true after an answer.

    Parameters
    ----------
    text
        The statement.
    fault
        A function of the changed fork. It gives back what is wrong, in words, and an empty text or None if nothing is.
    hint
        A hint for the learner when it is wrong.

    Returns
    -------
    StateCheck
        For the checks of an ``Exercise``.
    """
    return StateCheck(text, fault, hint)


def must_accept(text: str, obj: Object, *, hint: str = "", subject: str = "") -> WriteCheck:
    """An object that the server must accept after an answer; nothing is kept of it.

    Parameters
    ----------
    text
        The object in words.
    obj
        The object.
    hint
        A hint for the learner when it is refused.
    subject
        Who writes it (``user:ann``); by default an administrator.

    Returns
    -------
    WriteCheck
        For the checks of an ``Exercise``.
    """
    return WriteCheck(text, obj, hint=hint, subject=subject)


def must_refuse(text: str, obj: Object, *, because: str = "", hint: str = "", subject: str = "") -> WriteCheck:
    """An object that the server must refuse after an answer.

    Parameters
    ----------
    text, obj, hint, subject
        As for ``must_accept``.
    because
        A part of the message with which it must be refused.

    Returns
    -------
    WriteCheck
        For the checks of an ``Exercise``.
    """
    return WriteCheck(text, obj, accepted=False, hint=hint, subject=subject, because=because)
