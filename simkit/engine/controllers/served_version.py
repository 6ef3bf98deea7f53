"""Translates requests of controllers into the API versions that a release serves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from simkit.kinds.conversions import convert
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, GroupVersion, GroupVersionResource
from simkit.schema.catalogue import Catalogue


def with_served_version(request: Request, catalogue: Catalogue) -> Request:
    """The same request for the version of its resource that is served, if that is not the one it names.

    Examples
    --------
    >>> asked = Request.of("PUT", "/apis/policy/v1/namespaces/a/poddisruptionbudgets/b/status")
    >>> with_served_version(asked, Catalogue.for_release("1.20")).path
    '/apis/policy/v1beta1/namespaces/a/poddisruptionbudgets/b/status'
    """
    root, named, rest = _parts(request.path)
    if not named.group or catalogue.find(*named) is not None:
        return request
    found = catalogue.preferred(GroupResource(named.group, named.resource))
    if found is None:
        return request
    path = f"{root}/{named.group}/{found.version}/{rest}"
    body = request.body and orjson.dumps(_converted(orjson.loads(request.body), named, found.api_version, catalogue))
    return replace(request, path=path, body=body, value=None)


def _parts(path: str) -> tuple[str, GroupVersionResource, str]:
    """The path before the group, the resource that it names, and what follows its version."""
    _, root, *parts = path.split("/")
    if root != "apis" or len(parts) < 3:
        return "", GroupVersionResource("", "", ""), ""
    group, version, *rest = parts
    plural = rest[2] if rest[0] == "namespaces" and len(rest) > 2 else rest[0]
    return f"/{root}", GroupVersionResource(group, version, plural), "/".join(rest)


def _converted(body: Any, named: GroupVersionResource, api_version: str, catalogue: Catalogue) -> Any:
    whole = isinstance(body, dict) and body.get("apiVersion") == str(GroupVersion(named.group, named.version))
    return convert(body, api_version, catalogue.behaviour) if whole else body
