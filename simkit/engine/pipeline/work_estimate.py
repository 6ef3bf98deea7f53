"""An estimate of the work for a request, by measures that are known before it: whether it takes long.

Long is more than a few milliseconds. Whatever takes long is worked on beside the event loop, so that others are
answered meanwhile. The numbers are such that what stays below them takes less than that on a slow machine; a request
that is estimated too high is answered all the same, some hundred microseconds later.

References
----------
k8s.io/apiserver/pkg/util/flowcontrol/request (``WorkEstimator``), release 1.30, which estimates seats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation.bodies import KEPT, NONE, PLAIN, form_of
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.engine.pipeline.request_info import parse_request_info as info_of
from simkit.meta.domain import api_group
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.schema.catalogue import Resource
from simkit.seams import Reader

# The stored objects that a write is checked against, by which it may take long however small it is itself.
# Admission reads all quotas and limit ranges of the namespace, all classes of a kind, or all pods of a namespace whose
# level of pod security changes. Nobody else knows how many there are before the work begins.

_OF_NAMESPACES: Final = (GroupResource("", "resourcequotas"), GroupResource("", "limitranges"))
"""Resources of which every object of a namespace is asked about its writes; each charged quota is a write by itself."""
_OF_ALL: Final[Mapping[str, tuple[GroupResource, ...]]] = {
    "pods": (GroupResource(api_group("scheduling"), "priorityclasses"),),
    "persistentvolumeclaims": (GroupResource(api_group("storage"), "storageclasses"),),
    "ingresses": (GroupResource(api_group("networking"), "ingressclasses"),),
}
"""Resources of which every object is asked about the creation of others."""
_PODS, _BUDGETS = GroupResource("", "pods"), GroupResource("policy", "poddisruptionbudgets")
_FEW: Final = 4
_FEW_BYTES: Final = 16 * 1024
_MANY: Final = 100
"""Objects that are only looked at."""


def _consults_many(store: Reader, info: RequestInfo) -> bool:
    """True if writes of a path are checked against so many objects, or so large ones, that it takes long."""
    own = _OF_NAMESPACES if info.namespace and not info.subresource else ()
    if any(_are_many(store, each, info.namespace, _FEW) for each in own):
        return True
    if any(_are_many(store, each, None, _MANY) for each in _OF_ALL.get(info.resource, ())):
        return True
    if info.resource == "namespaces" and info.name and _are_many(store, _PODS, info.name, _MANY):
        return True
    return info.subresource == "eviction" and _are_many(store, _BUDGETS, info.namespace, _MANY)


def _are_many(store: Reader, resource: GroupResource, namespace: str | None, few: int) -> bool:
    if not store.count(resource):
        return False
    found = store.scan(resource, namespace, limit=few + 1)
    return len(found) > few or sum(entry.size for entry in found) > few * _FEW_BYTES


_WRITING: Final = ("create", "update", "patch")
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HEAD_BYTES: Final = 4096
"""Of the request line and the headers together: tokens, selectors and certificates are read before anybody knows who
sends them."""
_CHAIN_BYTES: Final = 4096
"""Of the certificates that a peer sent."""
QUERY_CHARACTERS: Final = 512
JSON_BYTES: Final = 16 * 1024
"""Of a body that is JSON or a merge patch, and of the object that it changes."""
OTHER_BYTES: Final = 1024
"""Of a body in YAML or protobuf, a JSON patch, an applied or a strategic patch."""
LISTED: Final = 200
"""Objects of a list whose bytes are kept."""
LISTED_BYTES: Final = 256 * 1024
CONVERTED: Final = 20
"""Objects of a list that are made into something else, such as the rows of a Table."""
CONVERTED_BYTES: Final = 16 * 1024
DELETED: Final = 10
_LONG_PATHS: Final = ("/openapi/", "/metrics", "/.well-known/", "/openid/")
_COMPILED: Final = frozenset(
    {
        "customresourcedefinitions",
        "validatingadmissionpolicies",
        "mutatingadmissionpolicies",
        "selfsubjectrulesreviews",
    }
)
"""Resources whose writes compile schemas or expressions, or ask about every rule."""
_PAUSED_PARTS: Final = ("", "status", "scale", "binding")
"""Subresources whose writes are nothing but writes of one object."""
_POLICY_BINDINGS: Final = tuple(
    GroupResource(api_group("admissionregistration"), f"{kind}admissionpolicybindings")
    for kind in ("validating", "mutating")
)


def takes_long(engine: Engine, request: Request) -> bool:
    """True if a request, with its body or while that is still to come, may take more than a few milliseconds."""
    path = request.path
    if request.head_size > _HEAD_BYTES or sum(map(len, request.certificates)) > _CHAIN_BYTES:
        return True
    if path.startswith(_LONG_PATHS):
        return True
    if request.query and _length(request) > QUERY_CHARACTERS:
        return True
    if len(request.body) > OTHER_BYTES and len(request.body) > _body_limit(request):
        return True
    info = info_of(request.method, path, request.query)
    if not info.is_resource:
        return bool(form_of(request))
    found = engine.catalogue.find(info.group, info.version, info.resource)
    if found is None:
        return False
    if (found.gvr, info.verb, info.subresource) not in engine.met:
        return True
    headers = request.headers
    plain = headers.get("accept", NONE)[0] in KEPT and headers.get("content-type", NONE)[0] in PLAIN
    if not plain and (found.gvr, form_of(request)) not in engine.met_forms:
        return True
    if request.method in _READING:
        return found.stored and _long_read(engine, request, info, found.storage)
    return _long_write(engine, request, info, found)


def may_pause(request: Request) -> bool:
    """True if a write holds no lock while it waits for the store: it concerns one object that has no numbers of its
    own, as Services have."""
    info = info_of(request.method, request.path, request.query)
    return info.resource != "services" and info.subresource in _PAUSED_PARTS and info.verb != "deletecollection"


def _length(request: Request) -> int:
    return sum(len(value) for values in request.query.values() for value in values)


def _body_limit(request: Request) -> int:
    return JSON_BYTES if request.header("content-type").partition(";")[0] in PLAIN else OTHER_BYTES


def _long_read(engine: Engine, request: Request, info: RequestInfo, resource: GroupResource) -> bool:
    kept = request.header("accept") in KEPT
    if info.name:
        entry = engine.store.get(Key(resource, info.namespace, info.name))
        return entry is not None and entry.size > (LISTED_BYTES if kept else CONVERTED_BYTES)
    most, most_bytes = (LISTED, LISTED_BYTES) if kept else (CONVERTED, CONVERTED_BYTES)
    if engine.store.count(resource) > most:
        return True
    return sum(entry.size for entry in engine.store.scan(resource)) > most_bytes


def _long_write(engine: Engine, request: Request, info: RequestInfo, found: Resource) -> bool:
    if found.custom or info.resource in _COMPILED or any(map(engine.store.count, _POLICY_BINDINGS)):
        return True
    if info.verb in _WRITING and _consults_many(engine.store, info):
        return True
    if info.verb == "deletecollection":
        return engine.store.count(found.storage) > DELETED
    if info.verb == "create" or not info.name or not found.stored:
        return False
    entry = engine.store.get(Key(found.storage, info.namespace, info.name))
    return entry is not None and entry.size > (JSON_BYTES if request.method != "PATCH" else _body_limit(request))
