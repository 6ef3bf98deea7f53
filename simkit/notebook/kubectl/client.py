"""Requests of kubectl to a cluster in this process, and errors in kubectl's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from simkit.analysis.rbac.subject import identity_of
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

USER_AGENT: Final = "kubectl"


class KubectlError(Exception):
    """The text that kubectl would write to standard error, with its exit code."""

    def __init__(self, text: str, code: int = 1, *, message: str = "") -> None:
        super().__init__(text)
        self.text, self.code = text, code
        self.message = message or text
        """The server's message, without kubectl's own words."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client of a cluster with its namespace and the user that it acts as."""

    cluster: Cluster
    namespace: str = "default"
    subject: str = ""
    warnings: list[str] = field(default_factory=list)
    groups: tuple[str, ...] = ()

    @property
    def catalogue(self) -> Catalogue:
        """The resources that the cluster serves."""
        found: Catalogue = self.cluster.engine.catalogue
        return found

    @property
    def identity(self) -> Identity | None:
        """The user; None for an administrator."""
        return identity_of(self.subject, self.groups) if self.subject else None

    def resource(self, word: str) -> Resource:
        """The resource that a word names. Raises KubectlError as kubectl words it."""
        found = find_resource(self.catalogue, word)
        if found is None:
            raise KubectlError(f'error: the server doesn\'t have a resource type "{word}"')
        return found

    def path(self, resource: Resource, namespace: str = "", name: str = "", part: str = "") -> str:
        """The path of a collection, an object or a subresource."""
        scope = f"/namespaces/{quote(namespace, safe='')}" if resource.namespaced and namespace else ""
        steps = "".join(f"/{quote(step, safe=':')}" for step in (name, part) if step)
        return f"{resource.path}{scope}/{resource.resource}{steps}"

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        accept: str = "application/json",
        media: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The answer to a request. Raises KubectlError with the server's message."""
        target = f"{path}?{urlencode(query)}" if query else path
        sent = {"accept": accept, "user-agent": USER_AGENT, **(headers or {})}
        request = Request.of(method, target, body, content_type=media, headers=sent)
        response = self.cluster.perform(request, identity=self.identity)
        self.warnings.extend(response.warnings)
        if not response.succeeded:
            raise server_error(response)
        return response

    def live(self, path: str) -> dict[str, Any] | None:
        """The object at a path; None if there is none. Raises KubectlError for other answers."""
        try:
            found: dict[str, Any] = self.ask("GET", path).object
        except KubectlError as error:
            if "(NotFound)" in error.text:
                return None
            raise
        return found


def find_resource(catalogue: Catalogue, word: str) -> Resource | None:
    """The resource that a word names; None if none does."""
    from simkit.meta.errors import SimkitError

    try:
        return catalogue.lookup(word)
    except SimkitError:
        return None


def server_error(response: Response) -> KubectlError:
    """The error of a response in kubectl's words."""
    if response.status == 404 and not response.content_type.startswith("application/json"):
        return KubectlError("Error from server (NotFound): the server could not find the requested resource")
    if not response.content_type.startswith("application/json"):
        return KubectlError(f"Error from server: {response.body.decode('utf-8', 'replace').strip()}")
    status = response.object
    reason, message = status.get("reason", ""), status.get("message", "")
    if reason == "Invalid":
        return KubectlError(_invalid(status), message=message)
    told = f"Error from server ({reason}): {message}" if reason else f"Error from server: {message}"
    return KubectlError(told, message=message)


def _invalid(status: Mapping[str, Any]) -> str:
    """Several causes as a list, one in the line, as kubectl writes 422."""
    details = status.get("details") or {}
    causes = details.get("causes") or []
    what = f'The {details.get("kind", "")} "{details.get("name", "")}" is invalid'
    if len(causes) == 1:
        return f"{what}: {causes[0]['field']}: {causes[0]['message']}"
    if not causes:
        return f"{what}: {status.get('message', '')}"
    lines = dict.fromkeys(f"* {cause['field']}: {cause['message']}" for cause in causes)
    return "\n".join([f"{what}: ", *lines])
