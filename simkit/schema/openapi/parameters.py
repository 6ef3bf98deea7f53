"""Query parameters and media types of each action in OpenAPI documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.meta.domain import PROTOBUF_MEDIA_TYPE
from simkit.schema.openapi.schemas import V2, Dialect, Shape

_STRING: Final = {"type": "string"}
_BOOLEAN, _INTEGER = {"type": "boolean"}, {"type": "integer"}
_NOT_STRINGS: Final = {
    "allowWatchBookmarks": _BOOLEAN,
    "follow": _BOOLEAN,
    "force": _BOOLEAN,
    "gracePeriodSeconds": _INTEGER,
    "ignoreStoreReadErrorWithClusterBreakingPotential": _BOOLEAN,
    "insecureSkipTLSVerifyBackend": _BOOLEAN,
    "limit": _INTEGER,
    "limitBytes": _INTEGER,
    "orphanDependents": _BOOLEAN,
    "ports": _INTEGER,
    "previous": _BOOLEAN,
    "sendInitialEvents": _BOOLEAN,
    "sinceSeconds": _INTEGER,
    "stderr": _BOOLEAN,
    "stdin": _BOOLEAN,
    "stdout": _BOOLEAN,
    "tailLines": _INTEGER,
    "timeoutSeconds": _INTEGER,
    "timestamps": _BOOLEAN,
    "tty": _BOOLEAN,
    "watch": _BOOLEAN,
}
_SINCE: Final = {
    "fieldValidation": 23,
    "ignoreStoreReadErrorWithClusterBreakingPotential": 32,
    "insecureSkipTLSVerifyBackend": 17,
    "resourceVersionMatch": 19,
    "sendInitialEvents": 27,
    "stream": 32,
}
"""The first minor release of a parameter, if not all have it."""

_SELECT: Final = ("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch")
_EVENTS: Final = ("sendInitialEvents", "timeoutSeconds")
_LIST: Final = (*_SELECT, *_EVENTS, "allowWatchBookmarks", "watch")
_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETE: Final = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)
_OPTIONS: Final = {
    "list": _LIST,
    "watch": _LIST,
    "watchlist": _LIST,
    "post": _WRITE,
    "put": _WRITE,
    "patch": (*_WRITE, "force"),
    "delete": _DELETE,
    "deletecollection": (*_SELECT, *_EVENTS, *_DELETE),
}
_CUSTOM_OPTIONS: Final = {"get": ("resourceVersion",), "deletecollection": _LIST}
"""Query parameters that differ for custom resources."""
_STREAMS: Final = ("container", "stderr", "stdin", "stdout", "tty")
_SUBRESOURCE_OPTIONS: Final = {
    "attach": _STREAMS,
    "exec": ("command", *_STREAMS),
    "log": (
        "container",
        "follow",
        "insecureSkipTLSVerifyBackend",
        "limitBytes",
        "previous",
        "sinceSeconds",
        "stream",
        "tailLines",
        "timestamps",
    ),
    "portforward": ("ports",),
    "proxy": ("path",),
}

DOCUMENTS: Final = ("application/json", "application/yaml")
ANY: Final = ("*/*",)
ENCODINGS: Final = (*DOCUMENTS, PROTOBUF_MEDIA_TYPE)
_STREAMED: Final = (*ENCODINGS, "application/json;stream=watch", f"{PROTOBUF_MEDIA_TYPE};stream=watch")
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_PATCHES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    _STRATEGIC,
    "application/apply-patch+yaml",
)


def options(action: str, subresource: str, minor: int, *, custom: bool) -> Sequence[str]:
    """The names of an action's query parameters in a minor release."""
    general = _OPTIONS.get(action, ())
    if custom:
        general = _CUSTOM_OPTIONS.get(action, general)
    own = _SUBRESOURCE_OPTIONS.get(subresource, ())
    pretty = () if action == "connect" else ("pretty",)
    names = (*pretty, *own, *general)
    return [name for name in names if _SINCE.get(name, 0) <= minor]


def taken(action: str, *, custom: bool) -> Sequence[str]:
    """The media types of request bodies. Clients read here that custom kinds have no strategic merge."""
    if action == "patch":
        return [patch for patch in _PATCHES if not (custom and patch == _STRATEGIC)]
    return DOCUMENTS if custom else ANY


def given(action: str, subresource: str, *, custom: bool) -> Sequence[str]:
    """The media types of responses."""
    if action == "connect":
        return ANY
    if custom:
        return DOCUMENTS
    if action in ("list", "watch", "watchlist"):
        return _STREAMED
    return ("text/plain", *ENCODINGS) if subresource == "log" else ENCODINGS


def parameter(dialect: Dialect, name: str, where: str = "query") -> Shape:
    """A parameter in the form of a dialect; path parameters are required."""
    typed = {**(_NOT_STRINGS.get(name, _STRING) if where == "query" else _STRING), "uniqueItems": True}
    required = {"required": True} if where == "path" else {}
    if dialect is V2:
        return {"in": where, "name": name, **typed, **required}
    return {"in": where, "name": name, "schema": typed, **required}


def with_common_parameters(operations: Shape, in_path: Sequence[Shape]) -> Shape:
    """The operations of one path, with the common parameters beside them."""
    lists = [
        {(each["in"], each["name"]): each for each in operation["parameters"]} for operation in operations.values()
    ]
    common = set.intersection(*map(set, lists)) - {("body", "body")}
    out: Shape = {}
    for method, operation in operations.items():
        own = [each for each in operation["parameters"] if (each["in"], each["name"]) not in common]
        rest = {name: value for name, value in operation.items() if name != "parameters"}
        out[method] = {**rest, "parameters": _sorted(own)} if own else rest
    shared = _sorted([*in_path, *(each for key, each in lists[0].items() if key in common)])
    return {**out, "parameters": shared} if shared else out


def _sorted(found: Sequence[Shape]) -> list[Shape]:
    return sorted(found, key=lambda each: (each["name"], each["in"]))
