"""The paths of a resource with what may be done there, as OpenAPI writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from simkit.meta.domain import API_DOMAIN, PROTOBUF_MEDIA_TYPE
from simkit.meta.names import GroupVersionKind
from simkit.schema.openapi.shapes import KIND_MARKER, V2, Dialect, Shape, marker
from simkit.schema.resources import Resource

NameOf = Callable[[GroupVersionKind], str | None]
"""From a kind to the name of its definition."""

_STRING, _BOOLEAN, _INTEGER = {"type": "string"}, {"type": "boolean"}, {"type": "integer"}
_PARAMETERS: Final = {
    "allowWatchBookmarks": _BOOLEAN,
    "continue": _STRING,
    "dryRun": _STRING,
    "fieldManager": _STRING,
    "fieldSelector": _STRING,
    "fieldValidation": _STRING,
    "force": _BOOLEAN,
    "gracePeriodSeconds": _INTEGER,
    "labelSelector": _STRING,
    "limit": _INTEGER,
    "orphanDependents": _BOOLEAN,
    "pretty": _STRING,
    "propagationPolicy": _STRING,
    "resourceVersion": _STRING,
    "resourceVersionMatch": _STRING,
    "sendInitialEvents": _BOOLEAN,
    "timeoutSeconds": _INTEGER,
    "watch": _BOOLEAN,
}
_SELECT: Final = ("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch")
_WATCH: Final = ("allowWatchBookmarks", "sendInitialEvents", "timeoutSeconds", "watch")
_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETE: Final = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_OPTIONS: Final = {
    "list": (*_SELECT, *_WATCH),
    "post": _WRITE,
    "put": _WRITE,
    "patch": (*_WRITE, "force"),
    "delete": _DELETE,
    "deletecollection": (*_SELECT, "sendInitialEvents", "timeoutSeconds", *_DELETE),
}
_DOCUMENTS: Final = ("application/json", "application/yaml")
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_PATCHES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    _STRATEGIC,
    "application/apply-patch+yaml",
)
_VERBS: Final = {
    "get": "read",
    "list": "list",
    "post": "create",
    "put": "replace",
    "patch": "patch",
    "delete": "delete",
}
_METHODS: Final = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
"""The method of each verb on an item or a subresource."""


class Operations:
    """Writes the paths of one group version's resources in one dialect."""

    def __init__(self, dialect: Dialect, name_of: NameOf, general: Callable[[str], str]) -> None:
        self._dialect, self._name_of, self._general = dialect, name_of, general

    def paths(self, resource: Resource) -> Iterator[tuple[str, Shape]]:
        """Collection, item and subresources with their operations."""
        scope = "/namespaces/{namespace}" if resource.namespaced else ""
        collection = f"{resource.path}{scope}/{resource.resource}"
        verbs = resource.verbs
        on_collection = {"list": "list", "create": "post", "deletecollection": "deletecollection"}
        actions = [action for verb, action in on_collection.items() if verb in verbs]
        if actions:
            yield collection, self._item(resource, "", actions, named=False)
        actions = [_METHODS[verb] for verb in ("get", "update", "patch", "delete") if verb in verbs]
        if actions:
            yield f"{collection}/{{name}}", self._item(resource, "", actions)
        for name, info in resource.subresources.items():
            actions = [_METHODS[verb] for verb in info.verbs if verb in _METHODS]
            yield f"{collection}/{{name}}/{name}", self._item(resource, name, actions)
        if resource.namespaced and "list" in verbs:
            everywhere = self._operation(resource, "", "list", everywhere=True)
            yield f"{resource.path}/{resource.resource}", {"get": everywhere, "parameters": []}

    def _item(self, resource: Resource, subresource: str, actions: Sequence[str], *, named: bool = True) -> Shape:
        methods = {"list": "get", "deletecollection": "delete"}
        out: Shape = {methods.get(action, action): self._operation(resource, subresource, action) for action in actions}
        in_path = [name for name, needed in (("name", named), ("namespace", resource.namespaced)) if needed]
        out["parameters"] = [self._parameter(name, _STRING, where="path") for name in in_path]
        return out

    def _operation(self, resource: Resource, subresource: str, action: str, *, everywhere: bool = False) -> Shape:
        gvk = resource.subresource_gvk(subresource) if subresource else resource.gvk
        answer = resource.list_gvk if action == "list" else gvk
        name = self._general("Status") if "delete" in action else self._name_of(answer)
        options = ("pretty", *_OPTIONS.get(action, ()))
        out: Shape = {
            "operationId": operation_id(resource, subresource, action, everywhere=everywhere),
            "parameters": [self._parameter(option, _PARAMETERS[option]) for option in sorted(options)],
            "responses": self._responses(action, name, custom=resource.custom),
            "tags": [tag(resource)],
            "x-kubernetes-action": action,
            KIND_MARKER: marker(gvk),
        }
        self._add_body(out, action, self._body(action, gvk), custom=resource.custom)
        return out

    def _body(self, action: str, gvk: GroupVersionKind) -> str | None:
        if action in ("post", "put"):
            return self._name_of(gvk)
        if action == "patch":
            return self._general("Patch")
        return self._general("DeleteOptions") if "delete" in action else None

    def _add_body(self, operation: Shape, action: str, name: str | None, *, custom: bool) -> None:
        if name is None:
            return
        reference = self._dialect.reference(name)
        required = "delete" not in action
        media = _taken(action, custom=custom)
        if self._dialect is V2:
            body = {"in": "body", "name": "body", "schema": reference, **({"required": True} if required else {})}
            operation["parameters"] = [body, *operation["parameters"]]
            operation["consumes"] = list(media)
        else:
            content = {each: {"schema": reference} for each in media}
            operation["requestBody"] = {"content": content, **({"required": True} if required else {})}

    def _responses(self, action: str, name: str | None, *, custom: bool) -> Shape:
        codes = {
            "post": ("200", "201", "202"),
            "put": ("200", "201"),
            "patch": ("200", "201"),
            "delete": ("200", "202"),
        }
        words = {"200": "OK", "201": "Created", "202": "Accepted"}
        made = codes.get(action, ("200",))
        out = {code: self._response(words[code], name, action, custom=custom) for code in made}
        return {**out, "401": {"description": "Unauthorized"}}

    def _response(self, word: str, name: str | None, action: str, *, custom: bool) -> Shape:
        schema = self._dialect.reference(name) if name else {"type": "string"}
        if self._dialect is V2:
            return {"description": word, "schema": schema}
        media = list(_DOCUMENTS) if custom else ["application/json", PROTOBUF_MEDIA_TYPE, "application/yaml"]
        if action == "list" and not custom:
            media += ["application/json;stream=watch", f"{PROTOBUF_MEDIA_TYPE};stream=watch"]
        return {"description": word, "content": {each: {"schema": schema} for each in media}}

    def _parameter(self, name: str, kind: Shape, where: str = "query") -> Shape:
        typed = {**kind, "uniqueItems": True}
        required = {"required": True} if where == "path" else {}
        if self._dialect is V2:
            return {"in": where, "name": name, **typed, **required}
        return {"in": where, "name": name, "schema": typed, **required}


def _taken(action: str, *, custom: bool) -> Sequence[str]:
    """The media types of bodies. Clients look here whether they may send a strategic merge: never of custom kinds."""
    if action == "patch":
        return [patch for patch in _PATCHES if not (custom and patch == _STRATEGIC)]
    return _DOCUMENTS if custom else ("*/*",)


def _camel(group: str) -> str:
    """A group as part of an operation's name: the project's domain left out, every word capitalised."""
    words = re.split(r"[.\-]", group.removesuffix(f".{API_DOMAIN}") or "core")
    return "".join(word[:1].upper() + word[1:] for word in words)


def tag(resource: Resource) -> str:
    """The tag under which documentation lists a group version."""
    camel = _camel(resource.group)
    return f"{camel[0].lower()}{camel[1:]}_{resource.version}"


def operation_id(resource: Resource, subresource: str, action: str, *, everywhere: bool = False) -> str:
    """The unique name of an operation: ``readCoreV1NamespacedPodStatus``."""
    version = resource.version[:1].upper() + resource.version[1:]
    verb, collection = ("delete", "Collection") if action == "deletecollection" else (_VERBS[action], "")
    scope = "Namespaced" if resource.namespaced and not everywhere else ""
    suffix = subresource[:1].upper() + subresource[1:]
    where = "ForAllNamespaces" if everywhere else ""
    return f"{verb}{_camel(resource.group)}{version}{collection}{scope}{resource.kind}{suffix}{where}"
