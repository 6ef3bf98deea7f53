"""Stored objects that a removal concerns: unreachable, written in a removed version, or naming one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from simkit.analysis.upgrade.removed_resources import RemovedResources
from simkit.meta.domain import LAST_APPLIED
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, name_of, namespace_of
from simkit.snapshot.dump import Dump
from simkit.snapshot.protocol import Snapshot

OBJECT_COLUMNS: Final = ("evidence", "api_version", "kind", "resource", "namespace", "name", "where", "manager")


class ObjectEvidence(NamedTuple):
    """One sign that an object depends on a removed version.

    ``evidence``: unreachable (no version of it is left), written (a field manager or a manifest wrote it in that
    version; programs that still do will fail), applied (the last client-side apply used it; maybe long ago), mentions
    (a part of the object names the version and kind, as references and templates do), text (a text inside spells a
    manifest).
    """

    evidence: str
    api_version: str
    kind: str
    resource: str
    namespace: str
    name: str
    where: str
    manager: str


def object_evidence(snapshot: Snapshot, removed: RemovedResources) -> Iterator[ObjectEvidence]:
    """All signs in the stored objects, resource by resource. O(size of the snapshot)."""
    lost = {place for key, place in removed.stored.items() if _unreachable(removed, key)}
    for resource in sorted(snapshot.captured()):
        for obj in snapshot.scan(resource):
            yield from _of_object(obj, resource, removed, resource in lost)


def manifest_evidence(dump: Dump, snapshot: Snapshot, *tables: RemovedResources | None) -> Iterator[ObjectEvidence]:
    """The manifests that are written in a removed version and whose objects still exist.

    What has a uid is no manifest but was listed by a server, in a version of the listing's choice.
    """
    for key, obj in dump.keyed.items():
        if at(obj, "metadata", "uid") or key.resource not in snapshot.captured():
            continue
        version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
        gone = any(removed is not None and removed.kind(version, kind) is not None for removed in tables)
        if gone and snapshot.get(key.resource, key.name, key.namespace) is not None:
            yield ObjectEvidence("written", version, kind, str(key.resource), key.namespace, key.name, "apiVersion", "")


def _unreachable(removed: RemovedResources, key: tuple[str, str]) -> bool:
    found = removed.resource(*key)
    return found is not None and found.objects_unreachable


def _of_object(obj: Object, resource: GroupResource, removed: RemovedResources, lost: bool) -> Iterator[ObjectEvidence]:
    place = (str(resource), namespace_of(obj), name_of(obj))
    own, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    if lost:
        yield ObjectEvidence("unreachable", own, kind, *place, "", "")
    for entry in at(obj, "metadata", "managedFields") or ():
        if removed.kind(str(entry.get("apiVersion")), kind) is not None:
            yield ObjectEvidence(
                "written", entry["apiVersion"], kind, *place, "managedFields", entry.get("manager") or ""
            )
    applied = _applied(obj)
    if removed.kind(*applied) is not None:
        yield ObjectEvidence("applied", *applied, *place, LAST_APPLIED, "")
    body = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
    yield from _mentions(body, "", removed, place)
    for owner in at(obj, "metadata", "ownerReferences") or ():
        if removed.kind(str(owner.get("apiVersion")), str(owner.get("kind"))) is not None:
            yield ObjectEvidence("mentions", owner["apiVersion"], owner["kind"], *place, "metadata.ownerReferences", "")


def _applied(obj: Object) -> tuple[str, str]:
    text = annotations_of(obj).get(LAST_APPLIED)
    try:
        last = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        last = None
    return (str(last.get("apiVersion")), str(last.get("kind"))) if isinstance(last, Mapping) else ("", "")


def _mentions(
    value: Any, path: str, removed: RemovedResources, place: tuple[str, str, str]
) -> Iterator[ObjectEvidence]:
    if isinstance(value, Mapping):
        version, kind = value.get("apiVersion"), value.get("kind")
        if isinstance(version, str) and isinstance(kind, str) and removed.kind(version, kind) is not None:
            yield ObjectEvidence("mentions", version, kind, *place, path, "")
        for name, inner in value.items():
            yield from _mentions(inner, f"{path}.{name}" if path else str(name), removed, place)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for index, inner in enumerate(value):
            yield from _mentions(inner, f"{path}[{index}]", removed, place)
    elif isinstance(value, str) and "apiVersion" in value:
        yield from _spelled(value, path, removed, place)


def _spelled(text: str, path: str, removed: RemovedResources, place: tuple[str, str, str]) -> Iterator[ObjectEvidence]:
    """Manifests inside a text: a line with the version, and near it a line with one of its kinds."""
    for each in removed.resources:
        spelled = (f"apiVersion: {each.api_version}\n", f'apiVersion: "{each.api_version}"', f'"{each.api_version}"')
        if any(form in f"{text}\n" for form in spelled) and each.kind in text:
            yield ObjectEvidence("text", each.api_version, each.kind, *place, path, "")
