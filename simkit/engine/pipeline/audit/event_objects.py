"""The objects of a request and its response in audit events.

Upstream: k8s.io/apiserver/pkg/audit/request.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from simkit.engine.pipeline.audit.secrets import message_scrubbed, scrubbed
from simkit.engine.pipeline.representation import bodies, protobuf
from simkit.engine.pipeline.representation.negotiation import JSON, PROTOBUF, YAML
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.errors import StatusError
from simkit.meta.message import Response
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import metadata

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
            return protobuf.decode(body, GroupVersionKind("", "", ""))
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
        status |= {name: obj[name] for name in _SHOWN_OF_STATUS if obj.get(name)}
        if "message" in status:
            status["message"] = message_scrubbed(status["message"], context.info)
            obj = {**obj, "message": status["message"]}
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
