"""OpenAPI paths and operations of a resource, and of endpoints without one: discovery, version, token issuer.

Upstream: installer.go and discovery/group.go of k8s.io/apiserver/pkg/endpoints, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from simkit.meta.domain import API_DOMAIN
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.schema.behaviour import default_behaviour
from simkit.schema.openapi.descriptions import described_operation
from simkit.schema.openapi.parameters import ENCODINGS, given, options, parameter, taken, with_common_parameters
from simkit.schema.openapi.schemas import KIND_MARKER, V2, Dialect, Shape, marker
from simkit.schema.resources import Resource

NameOf = Callable[[GroupVersionKind], str | None]
"""A function from a kind to the name of its definition."""

UNAUTHORIZED: Final = {"401": {"description": "Unauthorized"}}
"""The 401 response of every operation."""
DELETED_IN_FULL: Final = frozenset(
    GroupResource(group, resource)
    for group, resources in {
        "": (
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "resourcequotas",
            "serviceaccounts",
            "services",
        ),
        "policy": ("podsecuritypolicies",),
        f"storage.{API_DOMAIN}": ("csidrivers", "csinodes", "storageclasses", "volumeattachments"),
    }.items()
    for resource in resources
)
"""Resources whose DELETE returns the object and not a Status."""
_VERBS: Final = {
    "get": "read",
    "list": "list",
    "post": "create",
    "put": "replace",
    "patch": "patch",
    "delete": "delete",
    "watch": "watch",
    "watchlist": "watch",
}
_METHODS: Final = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
"""The method of each verb on an item or a subresource."""
_CONNECTIONS: Final = {
    **dict.fromkeys(("attach", "exec", "portforward"), ("get", "post")),
    "proxy": ("delete", "get", "head", "options", "patch", "post", "put"),
}
"""The connect subresources of nodes, pods and services, with their methods."""
_COLLECTION: Final = {
    "list": ("get", "list"),
    "create": ("post", "post"),
    "deletecollection": ("delete", "deletecollection"),
}
"""The method and the action of each verb on a collection."""
_PATCH_CREATES: Final = 21
"""The minor release since which patch documents a 201 response."""
_WORDS: Final = {"200": "OK", "201": "Created", "202": "Accepted"}
_CODES: Final = {
    "post": ("200", "201", "202"),
    "put": ("200", "201"),
    "patch": ("200", "201"),
    "delete": ("200", "202"),
}


@dataclass(frozen=True, slots=True)
class PathScope:
    """Target of a path: a resource or subresource, in one namespace or in all, and the rest of the path."""

    resource: Resource
    subresource: str = ""
    everywhere: bool = False
    rest: bool = False

    @property
    def gvk(self) -> GroupVersionKind:
        return self.resource.subresource_gvk(self.subresource) if self.subresource else self.resource.gvk


class Operations:
    """Writes the paths of one group version's resources in one dialect, as in a minor release."""

    def __init__(self, dialect: Dialect, minor: int, name_of: NameOf, general: Callable[[str], str]) -> None:
        self._dialect, self._minor, self._name_of, self._general = dialect, minor, name_of, general

    def paths(self, resource: Resource) -> Iterator[tuple[str, Shape]]:
        """Collection, item, subresources and the deprecated paths of watches, with their operations."""
        scope = "/namespaces/{namespace}" if resource.namespaced else ""
        root, collection, verbs = resource.path, f"{scope}/{resource.resource}", resource.verbs
        place, everywhere = PathScope(resource), PathScope(resource, everywhere=True)
        inside = ["namespace"] if resource.namespaced else []
        named = ["name", *inside]
        actions = [_COLLECTION[verb] for verb in _COLLECTION if verb in verbs]
        if actions:
            yield f"{root}{collection}", self._item(place, actions, inside)
        actions = [(method, method) for verb, method in _METHODS.items() if verb in verbs and verb != "create"]
        if actions:
            yield f"{root}{collection}/{{name}}", self._item(place, actions, named)
        for name in resource.subresources:
            yield from self._subresource(PathScope(resource, name), f"{root}{collection}/{{name}}/{name}", named)
        if resource.namespaced and "list" in verbs:
            yield f"{root}/{resource.resource}", self._item(everywhere, [("get", "list")], [])
        if "watch" in verbs and not resource.custom:
            yield f"{root}/watch{collection}", self._item(place, [("get", "watchlist")], inside)
            yield f"{root}/watch{collection}/{{name}}", self._item(place, [("get", "watch")], named)
            if resource.namespaced:
                yield f"{root}/watch/{resource.resource}", self._item(everywhere, [("get", "watchlist")], [])

    def _subresource(self, place: PathScope, path: str, in_path: Sequence[str]) -> Iterator[tuple[str, Shape]]:
        methods = _CONNECTIONS.get(place.subresource)
        if methods is None:
            verbs = place.resource.subresources[place.subresource].verbs
            yield path, self._item(place, [(_METHODS[verb],) * 2 for verb in verbs if verb in _METHODS], in_path)
            return
        actions = [(method, "connect") for method in methods]
        yield path, self._item(place, actions, in_path)
        if place.subresource == "proxy":
            beyond = PathScope(place.resource, place.subresource, rest=True)
            yield f"{path}/{{path}}", self._item(beyond, actions, [*in_path, "path"])

    def _item(self, place: PathScope, actions: Sequence[tuple[str, str]], in_path: Sequence[str]) -> Shape:
        """The operations of one path by method."""
        operations = {method: self._operation(place, method, action) for method, action in actions}
        needed = [parameter(self._dialect, name, "path") for name in in_path]
        return with_common_parameters(operations, needed)

    def _operation(self, place: PathScope, method: str, action: str) -> Shape:
        resource, custom = place.resource, place.resource.custom
        names = options(action, place.subresource, self._minor, custom=custom)
        produced = given(action, place.subresource, custom=custom)
        group = tag(resource.group, resource.version)
        out: Shape = {
            "operationId": operation_id(place, method, action),
            "parameters": [parameter(self._dialect, name) for name in names],
            "responses": self._responses(action, self._answer(place, action), produced, custom=custom),
            "tags": [group],
            "x-kubernetes-action": action,
            KIND_MARKER: marker(place.gvk),
        }
        if not custom:
            out = described_operation(out, group)
        consumed = taken(action, custom=custom)
        if self._dialect is V2:
            out |= {"consumes": list(consumed), "produces": list(produced), "schemes": ["https"]}
        self._add_body(out, consumed, self._body(place, action), required="delete" not in action)
        return out

    def _answer(self, place: PathScope, action: str) -> str | None:
        """The definition of an action's response; None for text and for passed-through responses."""
        if action in ("watch", "watchlist"):
            return self._general("WatchEvent")
        if action == "connect" or place.subresource == "log":
            return None
        if action == "deletecollection":
            return self._general("Status")
        if action == "delete" and place.resource.group_resource not in DELETED_IN_FULL:
            return self._general("Status")
        return self._name_of(place.resource.list_gvk if action == "list" else place.gvk)

    def _body(self, place: PathScope, action: str) -> str | None:
        """The definition of an action's request body."""
        if action in ("post", "put"):
            return self._name_of(place.gvk)
        if action == "patch":
            return self._general("Patch")
        whole = action == "deletecollection" and not place.resource.custom
        return self._general("DeleteOptions") if whole or action == "delete" else None

    def _add_body(self, operation: Shape, media: Sequence[str], name: str | None, *, required: bool) -> None:
        if name is None:
            return
        reference = self._dialect.reference(name)
        needed = {"required": True} if required else {}
        if self._dialect is V2:
            body = {"in": "body", "name": "body", "schema": reference, **needed}
            operation["parameters"] = [body, *operation["parameters"]]
        else:
            operation["requestBody"] = {"content": {each: {"schema": reference} for each in media}, **needed}

    def _responses(self, action: str, name: str | None, media: Sequence[str], *, custom: bool) -> Shape:
        made = action != "patch" or (not custom and self._minor >= _PATCH_CREATES)
        codes = _CODES.get(action, ("200",)) if made else ("200",)
        schema = self._dialect.reference(name) if name else {"type": "string"}
        return {**{code: response(self._dialect, _WORDS[code], schema, media) for code in codes}, **UNAUTHORIZED}


def response(dialect: Dialect, word: str, schema: Shape, media: Sequence[str]) -> Shape:
    """A response with this shape. Version 2 has the media types at the operation."""
    if dialect is V2:
        return {"description": word, "schema": schema}
    return {"description": word, "content": {each: {"schema": schema} for each in media}}


def camel(group: str) -> str:
    """A group in an operation's name: without the project's domain, every word capitalised."""
    words = re.split(r"[.\-]", group.removesuffix(f".{API_DOMAIN}") or "core")
    return "".join(map(capitalized, words))


def tag(group: str, version: str = "") -> str:
    """The documentation tag of a group, or of one of its versions."""
    words = camel(group)
    return f"{words[0].lower()}{words[1:]}" + (f"_{version}" if version else "")


def capitalized(word: str) -> str:
    """The word with its first letter in upper case and the rest unchanged."""
    return word[:1].upper() + word[1:]


def operation_id(place: PathScope, method: str, action: str) -> str:
    """The unique id of an operation: ``readCoreV1NamespacedPodStatus``, ``connectCoreV1GetNamespacedPodExec``."""
    resource = place.resource
    verb, after = _VERBS.get(action, ""), ""
    if action == "deletecollection":
        verb, after = "delete", "Collection"
    elif action == "connect":
        verb, after = "connect", capitalized(method)
    scope = "Namespaced" if resource.namespaced and not place.everywhere else ""
    end = capitalized(place.subresource) + ("List" if action == "watchlist" else "")
    end += ("ForAllNamespaces" if place.everywhere else "") + ("WithPath" if place.rest else "")
    return f"{verb}{camel(resource.group)}{capitalized(resource.version)}{after}{scope}{resource.kind}{end}"


_JSON: Final = ("application/json",)
_VERSION_INFO: Final = "io.k8s.apimachinery.pkg.version.Info"
_TOKENS: Final = {
    ".well-known/openid-configuration": ("getServiceAccountIssuerOpenIDConfiguration", "WellKnown", _JSON),
    "openid/v1/jwks": ("getServiceAccountIssuerOpenIDKeyset", "openid", ("application/jwk-set+json",)),
}
_SINGLE: Final = ("api", "apis", "logs", "version", *_TOKENS)


def single(release: str) -> tuple[str, ...]:
    """The documents of a release that belong to no group."""
    without = default_behaviour(release).ids & {"no-logs-handler"}
    return tuple(each for each in _SINGLE if each != "logs" or not without)


class Roots:
    """Writes non-resource paths in one dialect."""

    def __init__(self, dialect: Dialect, general: Callable[[str], str]) -> None:
        self._dialect, self._general = dialect, general

    def kind(self, name: str) -> str | None:
        """The definition at a path, by the name of its document; None for text."""
        if name in _TOKENS or name == "logs":
            return None
        if name == "version":
            return _VERSION_INFO
        root, *rest = name.split("/")
        if root == "api":
            return self._general("APIResourceList" if rest else "APIVersions")
        return self._general(("APIGroupList", "APIGroup", "APIResourceList")[len(rest)])

    def paths(self, name: str) -> Iterator[tuple[str, Shape]]:
        """The path of a document's root with its one operation; two for log files."""
        if name != "logs":
            yield f"/{name}/", {"get": self._operation(name)}
            return
        yield "/logs/", {"get": self._of_logs("logFileListHandler")}
        yield "/logs/{logpath}", {"get": self._of_logs("logFileHandler"), "parameters": [self._log_path()]}

    def _of_logs(self, operation: str) -> Shape:
        out: Shape = {"operationId": operation, "responses": UNAUTHORIZED, "tags": ["logs"]}
        return described_operation({**out, "schemes": ["https"]} if self._dialect is V2 else out, "logs")

    def _log_path(self) -> Shape:
        kind = {"type": "string", "uniqueItems": True}
        return {
            "name": "logpath",
            "in": "path",
            "required": True,
            **(kind if self._dialect is V2 else {"schema": kind}),
        }

    def _operation(self, name: str) -> Shape:
        operation, label, media = self._named(name)
        kind = self.kind(name)
        schema = self._dialect.reference(kind) if kind else {"type": "string"}
        out: Shape = {
            "operationId": operation,
            "responses": {"200": response(self._dialect, "OK", schema, media), **UNAUTHORIZED},
            "tags": [label],
        }
        if self._dialect is V2:
            out |= {"produces": list(media), "schemes": ["https"]}
            if kind:
                out["consumes"] = list(media)
        return described_operation(out, label)

    def _named(self, name: str) -> tuple[str, str, tuple[str, ...]]:
        """The operation's id, its tag, and the media types of its responses."""
        if name in _TOKENS:
            return _TOKENS[name]
        if name == "version":
            return "getCodeVersion", name, _JSON
        root, *rest = name.split("/")
        if name == "apis":
            return "getAPIVersions", name, ENCODINGS
        group, version = ("", rest) if root == "api" else (rest[0], rest[1:])
        if version:
            found = f"get{camel(group)}{capitalized(version[0])}APIResources"
            return found, tag(group, version[0]), ENCODINGS
        return f"get{camel(group)}{'APIGroup' if group else 'APIVersions'}", tag(group), ENCODINGS
