"""OpenAPI documents: one for each group version, their index, and the version 2 document.

Upstream: k8s.io/kube-openapi/pkg/handler3/handler.go, release 1.30.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.go_json import compact
from simkit.meta.names import GroupVersionKind
from simkit.schema.behaviour import default_behaviour
from simkit.schema.catalogue import Catalogue
from simkit.schema.definitions import Definitions
from simkit.schema.openapi import descriptions
from simkit.schema.openapi.operations import Operations, Roots, single
from simkit.schema.openapi.schemas import (
    LIST_META,
    V2,
    V3,
    Dialect,
    Shape,
    custom_definitions,
    custom_name,
    definition,
    reachable,
)
from simkit.schema.pruning import OBJECT_META
from simkit.schema.releases import git_version, minor_of
from simkit.schema.resources import Resource
from simkit.schema.structural import Schema

_META: Final = OBJECT_META.rpartition(".")[0]
_TITLE: Final = "Kubernetes"
_CUSTOM_TITLE: Final = "Kubernetes CRD Swagger"
_GENERAL: Final = ("DeleteOptions", "Patch", "Status", "WatchEvent")
"""Types that every group version with stored objects uses."""
_WATCHED: Final = "WatchEvent"
"""That of paths for watches, which custom resources do not have."""
_SECURITY: Final = {"BearerToken": {"in": "header", "name": "authorization", "type": "apiKey"}}

Parts = tuple[tuple[Resource, Schema | None], ...]
"""Resources, with schemas for custom ones: the source of a document."""


def index(catalogue: Catalogue) -> dict[str, Any]:
    """The list of documents of version 3, each with a path that changes with its content."""
    paths = {name: _link(name, parts) for name, parts in sorted(_documents(catalogue).items())}
    return {"paths": paths}


def document(catalogue: Catalogue, name: str) -> bytes | None:
    """The JSON of one document of version 3, by its name in the index (``api/v1``, ``apis/apps/v1``), or None."""
    parts = _documents(catalogue).get(name.strip("/"))
    return None if parts is None else _document(catalogue.release, name.strip("/"), parts)


def mark(catalogue: Catalogue, name: str) -> str | None:
    """The hash of a document's content in its link in the index, or None."""
    parts = _documents(catalogue).get(name.strip("/"))
    return None if parts is None else _mark(name.strip("/"), parts)


def swagger(catalogue: Catalogue) -> bytes:
    """The JSON of the version 2 document."""
    return _swagger(catalogue.release, _parts(catalogue, catalogue.resources()))


def _parts(catalogue: Catalogue, resources: Iterable[Resource]) -> Parts:
    return tuple((each, catalogue.schema(each.gvk) if each.custom else None) for each in resources)


def _documents(catalogue: Catalogue) -> Mapping[str, Parts]:
    """The documents by name. Those of discovery, the version and the token issuer have no resources."""
    found: dict[str, Parts] = dict.fromkeys(single(catalogue.release), ())
    for group in catalogue.groups():
        for version in group.versions:
            resources = catalogue.resources(group.name, version)
            name = _name(group.name, version)
            found[name] = _parts(catalogue, resources)
            if any(not each.custom for each in resources):
                found[name.rpartition("/")[0]] = ()
    return found


def _name(group: str, version: str) -> str:
    """The name of a group version's document."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _roots(parts: Parts) -> Sequence[str]:
    """The documents of groups and versions with described paths, without those of custom resources."""
    versions = dict.fromkeys(each.path.removeprefix("/") for each, schema in parts if schema is None)
    return tuple(dict.fromkeys([each for name in versions for each in (name.rpartition("/")[0], name)]))


def _link(name: str, parts: Parts) -> dict[str, str]:
    return {"serverRelativeURL": f"/openapi/v3/{name}?hash={_mark(name, parts)}"}


@lru_cache(maxsize=1024)
def _mark(name: str, parts: Parts) -> str:
    """The hash of a document's sources."""
    made_of = [
        name,
        descriptions.source(),
        *((repr(resource), schema.row if schema else None) for resource, schema in parts),
    ]
    return hashlib.sha512(orjson.dumps(made_of, default=str)).hexdigest().upper()


def _info(release: str, *, custom: bool = False) -> Shape:
    return {"title": _CUSTOM_TITLE if custom else _TITLE, "version": "v0.1.0" if custom else git_version(release)}


def _general(name: str) -> str:
    return f"{_META}.{name}"


@lru_cache(maxsize=256)
def _document(release: str, name: str, parts: Parts) -> bytes:
    custom = any(schema is not None for _, schema in parts)
    roots = [root for root in _roots(parts) if root == name] if parts else [name]
    out = {
        "openapi": "3.0.0",
        "info": _info(release, custom=custom),
        "paths": _paths(release, parts, roots, V3),
        "components": {"schemas": _schemas(release, parts, roots, V3), "securitySchemes": _SECURITY},
    }
    return compact(orjson.dumps(out))


@lru_cache(maxsize=4)
def _swagger(release: str, parts: Parts) -> bytes:
    roots = sorted({*single(release), *_roots(parts)})
    out = {
        "swagger": "2.0",
        "info": _info(release),
        "paths": _paths(release, parts, roots, V2),
        "definitions": _schemas(release, parts, roots, V2),
        "securityDefinitions": {
            "BearerToken": {**_SECURITY["BearerToken"], "description": "Bearer Token authentication"}
        },
        "security": [{"BearerToken": []}],
    }
    return compact(orjson.dumps(out))


def _paths(release: str, parts: Parts, roots: Sequence[str], dialect: Dialect) -> dict[str, Shape]:
    definitions = _definitions(release)
    customs = {resource.gvk for resource, schema in parts if schema is not None}
    customs |= {resource.list_gvk for resource, schema in parts if schema is not None}

    def name_of(gvk: GroupVersionKind) -> str | None:
        return custom_name(gvk) if gvk in customs else definitions.name_of(gvk)

    operations, plain = Operations(dialect, minor_of(release), name_of, _general), Roots(dialect, _general)
    found = [path for resource, _ in parts for path in operations.paths(resource)]
    return dict(sorted([*found, *(path for root in roots for path in plain.paths(root))]))


def _schemas(release: str, parts: Parts, roots: Sequence[str], dialect: Dialect) -> dict[str, Shape]:
    """The definitions that the operations of these resources and roots refer to."""
    behaviour = default_behaviour(release)  # documents are kept for all servers of a release
    definitions = _definitions(release)
    names = [OBJECT_META] if parts else []
    if any(resource.listable for resource, _ in parts):
        watched = any(resource.listable and not resource.custom for resource, _ in parts)
        names += [*(_general(name) for name in _GENERAL if watched or name != _WATCHED), LIST_META]
    plain = Roots(dialect, _general)
    names += [kind for root in roots if (kind := plain.kind(root)) is not None]
    customs: dict[str, Shape] = {}
    for resource, schema in parts:
        names += _named(definitions, resource)
        if schema is not None:
            customs |= custom_definitions(behaviour, resource, schema, dialect)
    versions = _versions(behaviour, release, parts, dialect)
    found = {
        name: definition(behaviour, definitions, name, dialect, versions) for name in reachable(definitions, names)
    }
    return dict(sorted({**found, **customs}.items()))


def _named(definitions: Definitions, resource: Resource) -> list[str]:
    """The definitions of a resource's kinds, if the release has them."""
    kinds = [resource.gvk, resource.list_gvk, *map(resource.subresource_gvk, resource.subresources)]
    names = (definitions.name_of(kind) for kind in kinds)
    return [name for name in names if name is not None]


def _definitions(release: str) -> Definitions:
    return Catalogue.for_release(release).definitions


def _versions(behaviour: ServedBehaviour, release: str, parts: Parts, dialect: Dialect) -> Sequence[tuple[str, str]]:
    """The group versions whose options and watch events a document names."""
    custom = any(resource.custom for resource, _ in parts)
    if dialect.version == V3.version and not custom and behaviour.applies("documents-name-own-versions"):
        return tuple(dict.fromkeys([("", "v1"), *((each.group, each.version) for each, _ in parts)]))
    return _built_in_versions(release)


@lru_cache(maxsize=8)
def _built_in_versions(release: str) -> Sequence[tuple[str, str]]:
    groups = Catalogue.for_release(release).groups()
    return tuple((group.name, version) for group in groups for version in group.versions)
