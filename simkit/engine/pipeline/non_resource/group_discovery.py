"""Discovery of groups: of this server and of aggregated ones, in one order.

Upstream: k8s.io/kube-aggregator/pkg/apiserver/handler_apis.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simkit.engine.pipeline.api_services import APIService
from simkit.engine.pipeline.engine import Engine
from simkit.meta.objects import null_creation
from simkit.schema import discovery
from simkit.schema.catalogue import Group

Document = dict[str, Any]


def group_list(engine: Engine) -> Document:
    """All named groups: the document at ``/apis``."""
    groups = [_described(each) for each in engine.api_services.groups(engine.catalogue) if each.name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def paths(engine: Engine) -> Iterator[str]:
    """The paths of all named groups and of their versions."""
    for each in engine.api_services.groups(engine.catalogue):
        if each.name:
            yield f"/apis/{each.name}"
            yield from (f"/apis/{each.name}/{version}" for version in each.versions)


def group(engine: Engine, name: str) -> Document | None:
    """One group: the document at ``/apis/<group>``; None if nobody serves it."""
    found = engine.api_services.group(engine.catalogue, name)
    return None if found is None else {"kind": "APIGroup", "apiVersion": "v1", **_described(found)}


def _described(found: Group) -> Document:
    versions = [{"groupVersion": f"{found.name}/{version}", "version": version} for version in found.versions]
    return {"name": found.name, "versions": versions, "preferredVersion": versions[0]}


def aggregated(engine: Engine, version: str, *, core: bool) -> Document:
    """All groups with all their resources in one document.

    Group versions of other servers carry what these say of themselves, or are marked as stale.
    """
    document = discovery.aggregated(engine.catalogue, version, core=core)
    if core:
        return document
    own = {item["metadata"]["name"]: item for item in document["items"]}
    items = [
        _item(engine, each, own.get(each.name)) for each in engine.api_services.groups(engine.catalogue) if each.name
    ]
    return {**document, "items": [item for item in items if item["versions"]]}


def _item(engine: Engine, found: Group, own: Document | None) -> Document:
    known = {row["version"]: row for row in (own or {}).get("versions", ())}
    versions = []
    for version in found.versions:
        backing = engine.aggregated_service(found.name, version)
        if backing is not None:
            versions.append(_remote_version(version, backing[0].resources(backing[1])))
        elif version in known:
            versions.append(known[version])
    return {"metadata": {"name": found.name, **null_creation()}, "versions": versions}


def _remote_version(version: str, listed: Mapping[str, Any] | None) -> Document:
    if listed is None:
        return {"version": version, "freshness": "Stale"}
    return {"version": version, "resources": _resources(listed.get("resources") or ()), "freshness": "Current"}


def _resources(rows: Sequence[Mapping[str, Any]]) -> list[Document]:
    """The entries of the aggregated form for a plain list of resources."""
    found: dict[str, Document] = {}
    for row in rows:
        name, _, part = str(row.get("name", "")).partition("/")
        kind = {"group": row.get("group", ""), "version": row.get("version", ""), "kind": row.get("kind", "")}
        verbs = list(row.get("verbs") or ())
        if part:
            parts = found.setdefault(name, {"resource": name}).setdefault("subresources", [])
            parts.append({"subresource": part, "responseKind": kind, "verbs": verbs})
            continue
        entry = {
            "resource": name,
            "responseKind": kind,
            "scope": "Namespaced" if row.get("namespaced") else "Cluster",
            "singularResource": row.get("singularName", ""),
            "verbs": verbs,
        }
        entry |= {field: list(row[field]) for field in ("shortNames", "categories") if row.get(field)}
        found[name] = {**entry, **found.get(name, {})}
    return list(found.values())


def openapi_index(engine: Engine, own: Mapping[str, Any]) -> Document:
    """The list of OpenAPI documents of version 3 with those of other servers."""
    paths = dict(own["paths"])
    for registration, relative_url in _relative_urls(engine):
        paths[f"apis/{registration.group_version}"] = {"serverRelativeURL": relative_url}
    return {**own, "paths": dict(sorted(paths.items()))}


def _relative_urls(engine: Engine) -> list[tuple[APIService, str]]:
    remote = engine.parts.remote
    if remote is None:
        return []
    found = [(each, remote.described(each)) for each in engine.api_services.remote]
    return [(registration, relative_url) for registration, relative_url in found if relative_url]


def merged_swagger(engine: Engine, own: Mapping[str, Any]) -> Document:
    """The OpenAPI document of version 2 with the paths and definitions of other servers; this one's own win."""
    remote, document = engine.parts.remote, dict(own)
    for registration in engine.api_services.remote if remote is not None else ():
        theirs = remote.swagger(registration) if remote is not None else None
        if theirs is None:
            continue
        prefix = f"/apis/{registration.group_version}/"
        paths = {path: row for path, row in (theirs.get("paths") or {}).items() if path.startswith(prefix)}
        document["paths"] = {**paths, **document["paths"]}
        document["definitions"] = {**(theirs.get("definitions") or {}), **document["definitions"]}
    return document
