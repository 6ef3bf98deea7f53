"""Requests of kubectl to a cluster in this process, errors in its words, and the objects that a command names."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from simkit.analysis.rbac.subject import identity_of
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource
from simkit.snapshot.load import manifests

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


class Selected(NamedTuple):
    """A resource, and the name of one object; empty for all of them."""

    resource: Resource
    name: str = ""
    namespace: str = ""
    """The namespace of an object of a file; empty: that of the command."""


def selected(client: Client, words: Sequence[str]) -> list[Selected]:
    """The objects that the words name. Raises KubectlError as kubectl words it."""
    if not words:
        raise KubectlError("error: Required resource not specified.")
    if any("/" in word for word in words):
        return [_pair(client, word) for word in words]
    resources = [each for word in words[0].split(",") for each in _resources(client, word)]
    if len(words) == 1:
        return [Selected(each) for each in resources]
    return [Selected(each, name) for each in resources for name in words[1:]]


def meant(client: Client, args: Namespace, stdin: str) -> list[Selected]:
    """The objects that the words name, or those of files. Raises KubectlError as kubectl words it."""
    if not args.filename:
        return selected(client, args.words)
    if args.words:
        raise KubectlError(
            "error: when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well"
        )
    places = (place_of(client, obj) for obj in documents(client, args.filename, stdin))
    return [Selected(resource, name, namespace) for resource, namespace, name in places]


def _resources(client: Client, word: str) -> Iterator[Resource]:
    """The resources of a word; of a category all that are in it."""
    known = find_resource(client.catalogue, word)
    category = [] if known else [each for each in client.catalogue.stored() if word in each.categories]
    yield from category or [known or client.resource(word)]


def _pair(client: Client, word: str) -> Selected:
    kind, slash, name = word.partition("/")
    if not slash or not kind or not name:
        raise KubectlError(
            "error: there is no need to specify a resource type as a separate argument when passing arguments in "
            "resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource "
            "resource/<resource_name>'"
        )
    return Selected(client.resource(kind), name)


def documents(client: Client, names: Sequence[str], stdin: str) -> list[dict[str, Any]]:
    """The objects of files; ``-`` is the cell. Raises KubectlError for what cannot be read."""
    found: list[dict[str, Any]] = []
    for name in names:
        if name != "-" and not Path(name).exists():
            raise KubectlError(f'error: the path "{name}" does not exist')
        try:
            source = stdin if name == "-" else Path(name)
            found += map(dict, manifests(source, client.cluster.release, namespace=client.namespace))
        except SimkitError as error:
            raise KubectlError(f"error: {error}") from None
    if not found:
        raise KubectlError("error: no objects passed to apply" if names else "error: must specify one of -f and -k")
    return found


def named(client: Client, args: Namespace) -> list[tuple[Resource, str, str]]:
    """Resource, namespace and name of the objects that words, ``-l`` and ``--all`` mean, of all that the words name.

    Raises KubectlError for a kind alone, without a name, ``-l`` and ``--all``.
    """
    chosen: list[tuple[Resource, str, str]] = []
    for each in selected(client, args.words):
        namespace = client.namespace if each.resource.namespaced and not args.all_namespaces else ""
        if each.name:
            chosen.append((each.resource, namespace, each.name))
            continue
        if not (args.all or args.selector or args.field_selector):
            raise KubectlError("error: resource(s) were provided, but no name was specified")
        asked = {"labelSelector": args.selector, "fieldSelector": args.field_selector}
        query = {name: text for name, text in asked.items() if text}
        items = client.ask("GET", client.path(each.resource, namespace), query=query).object["items"]
        places = [(item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in items]
        chosen += [(each.resource, *place) for place in places]
    return chosen


def place_of(client: Client, obj: dict[str, Any]) -> tuple[Resource, str, str]:
    """Resource, namespace and name of an object. Raises KubectlError for a kind that is not served."""
    try:
        resource = client.catalogue.resource_of(obj)
    except SimkitError:
        version, kind = obj.get("apiVersion", ""), obj.get("kind", "")
        raise KubectlError(
            f'error: resource mapping not found for name: "{(obj.get("metadata") or {}).get("name", "")}" namespace: '
            f'"{(obj.get("metadata") or {}).get("namespace", "")}" from "STDIN": no matches for kind "{kind}" in '
            f'version "{version}"\nensure CRDs are installed first'
        ) from None
    data = obj.get("metadata") or {}
    namespace = data.get("namespace") or client.namespace if resource.namespaced else ""
    return resource, namespace, data.get("name", "")


def title(resource: Resource, name: str) -> str:
    """An object as messages name it: ``deployment.apps/web``."""
    group = f".{resource.group}" if resource.group else ""
    return f"{resource.kind.lower()}{group}/{name}"
