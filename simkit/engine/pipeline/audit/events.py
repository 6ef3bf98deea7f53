"""Audit events: the objects in them without secrets, and their form as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from simkit.engine.pipeline.representation import bodies
from simkit.engine.pipeline.representation.negotiation import JSON, PROTOBUF, YAML
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.errors import StatusError
from simkit.meta.message import Response
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import metadata

Event = dict[str, Any]


def json_line(event: Mapping[str, Any]) -> bytes:
    """An event as a line of JSON."""
    return orjson.dumps(event) + b"\n"


# Removal of secret values from recorded objects: the data of secrets, and tokens

WITHHELD: Final = "REDACTED"
_OF_SECRETS: Final = ("data", "stringData")
_HARMLESS: Final = frozenset({"apiVersion", "kind", "metadata", "type", "immutable", "items"})
_OTHER_SHAPES: Final = frozenset(
    {"DeleteOptions", "List", "PartialObjectMetadata", "PartialObjectMetadataList", "SecretList", "Status", "Table"}
)
"""Kinds with secret values in other fields."""
_NAMES_ONLY: Final = frozenset({"NotFound", "AlreadyExists", "Conflict", "Expired", "MethodNotAllowed", "Unauthorized"})
"""Reasons whose messages name objects and revisions, and nothing of their content."""
_IS_FORBIDDEN: Final = ' is forbidden: User "'
"""Words of the authorizer's refusals, which name users, verbs and resources."""
_TOKENS: Final = {"TokenRequest": "status", "TokenReview": "spec"}
_LAST_APPLIED: Final = "last-applied-configuration"


def holds_secrets(info: RequestInfo) -> bool:
    """True if what is sent to, or comes from, a path is secret."""
    if info.resource == "secrets" and not info.group:
        return True
    return info.resource == "tokenreviews" or (info.resource, info.subresource) == ("serviceaccounts", "token")


def scrubbed(value: Any, info: RequestInfo) -> Any:
    """A decoded body without secret values; field names stay."""
    secret = holds_secrets(info)
    if secret and not isinstance(value, Mapping):  # a patch in steps, or nothing that belongs there
        listed = isinstance(value, list) and all(map(_is_step, value))
        return list(map(_patch_step, value)) if listed else WITHHELD
    found = _walked(value, secret=info.resource == "secrets" and not info.group)
    return _without_token(found, *_TOKENS.values()) if secret else found  # whatever kind the body says it is


def status_scrubbed(status: Mapping[str, Any], info: RequestInfo) -> Mapping[str, Any]:
    """A Status whose words cannot hold a secret value.

    Messages about secrets may quote the body, or values that were refused. Those stay that are made of names alone.
    """
    if not holds_secrets(info) or status.get("reason") in _NAMES_ONLY or _IS_FORBIDDEN in str(status.get("message")):
        return status
    found = {**status, "message": WITHHELD} if status.get("message") else dict(status)
    if isinstance(found.get("details"), Mapping):
        found["details"] = {name: each for name, each in found["details"].items() if name != "causes"}
    return found


def _walked(value: Any, *, secret: bool) -> Any:
    if isinstance(value, list):
        return [_patch_step(item) if secret and _is_step(item) else _walked(item, secret=secret) for item in value]
    if not isinstance(value, Mapping):
        return value
    kind = value.get("kind")
    if kind == "Status" and not secret:
        return value
    secret = secret or kind in ("Secret", "SecretList")
    found = dict(value)
    for name in ("items", "rows", "object"):
        if name in found:
            found[name] = _walked(found[name], secret=secret)
    if secret:
        found = _without_data(found)
    return _without_token(found, _TOKENS[kind]) if kind in _TOKENS else found


def _without_token(obj: Mapping[str, Any], *parts: str) -> dict[str, Any]:
    found = dict(obj)
    for part in parts:
        if isinstance(found.get(part), Mapping) and "token" in found[part]:
            found[part] = {**found[part], "token": WITHHELD}
    return found


def _without_data(obj: dict[str, Any]) -> dict[str, Any]:
    """A secret without values, also in misspelled fields."""
    other = obj.get("kind") in _OTHER_SHAPES or "cells" in obj
    for name in _OF_SECRETS if other else [name for name in obj if name not in _HARMLESS]:
        if isinstance(obj.get(name), Mapping):
            obj[name] = dict.fromkeys(obj[name], WITHHELD)
        elif name in obj and obj[name] is not None:
            obj[name] = WITHHELD
    metadata = obj.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("annotations"), Mapping):
        kept = metadata["annotations"]
        obj["metadata"] = {
            **metadata,
            "annotations": {name: WITHHELD if name.endswith(_LAST_APPLIED) else text for name, text in kept.items()},
        }
    return obj


def _is_step(item: Any) -> bool:
    return isinstance(item, Mapping) and "op" in item


def _patch_step(step: Mapping[str, Any]) -> dict[str, Any]:
    """An operation of a JSON patch of a secret, without its value."""
    return {**step, "value": WITHHELD} if "value" in step else dict(step)


# The objects of a request and its response in audit events.
# Upstream: k8s.io/apiserver/pkg/audit/request.go, release 1.30.

_CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_SHOWN_OF_STATUS: Final = ("status", "message", "reason", "details")


def sent(context: RequestContext) -> Any:
    """The decoded body of a request that reached its handler; None if there is none, or it is invalid.

    What is sent to a path outside of resources is of no interest.
    """
    request = context.request
    if (
        not context.info.is_resource
        or context.matched_path is None
        or not request.body
        or request.method not in _CHANGING
    ):
        return None
    if request.method == "PATCH":
        return _decoded(request.body, JSON) or _decoded(request.body, YAML)
    try:
        media = bodies.body_media(request)
    except StatusError:
        return None
    return _decoded(request.body, media)


def _decoded(body: bytes, media: str) -> Any:
    """The value of an encoded object; None if it cannot be decoded."""
    try:
        if media == PROTOBUF:
            return bodies.decode(body, GroupVersionKind("", "", ""))
        return bodies.parse_yaml(body, []) if media == YAML else orjson.loads(body)
    except (ValueError, bodies.MalformedBody, StatusError):
        return None


def reference(info: RequestInfo, body: Any) -> dict[str, Any]:
    """The object reference of a request; fields that the path lacks come from the body."""
    given: Mapping[str, Any] = {}
    if isinstance(body, Mapping) and body.get("kind") != "DeleteOptions" and info.verb in ("create", "update"):
        given = metadata(body) if isinstance(body.get("metadata"), Mapping) else {}
    found = {
        "resource": info.resource,
        "namespace": info.namespace or given.get("namespace"),
        "name": info.name or given.get("name"),
        "uid": given.get("uid"),
        "apiGroup": info.group,
        "apiVersion": info.version,
        "resourceVersion": given.get("resourceVersion"),
        "subresource": info.subresource,
    }
    return {name: value for name, value in found.items() if value}


def answered(context: RequestContext, response: Response, *, whole: bool) -> tuple[dict[str, Any], Any]:
    """The status of a response, and its object if that is requested or is a Status itself."""
    status: dict[str, Any] = {"metadata": {}}
    obj = None
    if response.body and (whole or response.status >= 400 or context.request.method == "DELETE"):
        media = response.content_type.partition(";")[0]
        obj = _decoded(response.body, media) if media in (JSON, YAML, PROTOBUF) else None
    if isinstance(obj, Mapping) and obj.get("kind") == "Status":
        obj = status_scrubbed(obj, context.info)
        status |= {name: obj[name] for name in _SHOWN_OF_STATUS if obj.get(name)}
    return {**status, "code": response.status}, obj


def shown(value: Any, info: RequestInfo, *, omit_managed_fields: bool) -> Any:
    """An object for an event: without secret values and, if the policy says so, without managed fields."""
    value = scrubbed(value, info)
    return _without_owners(value) if omit_managed_fields else value


def _without_owners(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    found = dict(value)
    if isinstance(found.get("metadata"), Mapping):
        found["metadata"] = {name: each for name, each in found["metadata"].items() if name != "managedFields"}
    if isinstance(found.get("items"), list):
        found["items"] = [_without_owners(item) for item in found["items"]]
    return found
