"""Requests of subjects that an exercise tries on a fork, each with the expected answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from simkit.analysis.access.can import can
from simkit.analysis.rbac.subject import identity_of
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

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
