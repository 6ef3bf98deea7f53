"""Stored objects that would notice: out of reach, or written or spoken of in a version that goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from simkit.analysis.removal_gone import GoneTable
from simkit.meta.domain import LABEL_DOMAIN
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, name_of, namespace_of
from simkit.snapshot.protocol import Snapshot

_LAST_APPLIED: Final = f"kubectl.{LABEL_DOMAIN}/last-applied-configuration"
OBJECT_COLUMNS: Final = ("evidence", "api_version", "kind", "resource", "namespace", "name", "where", "manager")


class Trace(NamedTuple):
    """One sign that an object has to do with a removed version.

    ``evidence``: unreachable (no version of it is left), written (a field manager wrote it in that version; programs
    that still do will fail), applied (the last client-side apply used it; maybe long ago), mentions (a part of the
    object names the version and kind, as references and templates do), text (a text inside spells a manifest).
    """

    evidence: str
    api_version: str
    kind: str
    resource: str
    namespace: str
    name: str
    where: str
    manager: str


def traces(snapshot: Snapshot, gone: GoneTable) -> Iterator[Trace]:
    """All signs in the stored objects, resource by resource. O(size of the snapshot)."""
    lost = {place for key, place in gone.stored.items() if _unreachable(gone, key)}
    for resource in sorted(snapshot.captured()):
        for obj in snapshot.scan(resource):
            yield from _of_object(obj, resource, gone, resource in lost)


def _unreachable(gone: GoneTable, key: tuple[str, str]) -> bool:
    found = gone.resource(*key)
    return found is not None and found.objects_unreachable


def _of_object(obj: Object, resource: GroupResource, gone: GoneTable, lost: bool) -> Iterator[Trace]:
    place = (str(resource), namespace_of(obj), name_of(obj))
    own, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    if lost:
        yield Trace("unreachable", own, kind, *place, "", "")
    for entry in at(obj, "metadata", "managedFields") or ():
        if gone.kind(str(entry.get("apiVersion")), kind) is not None:
            yield Trace("written", entry["apiVersion"], kind, *place, "managedFields", entry.get("manager") or "")
    applied = _applied(obj)
    if gone.kind(*applied) is not None:
        yield Trace("applied", *applied, *place, _LAST_APPLIED, "")
    body = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
    yield from _mentions(body, "", gone, place)
    for owner in at(obj, "metadata", "ownerReferences") or ():
        if gone.kind(str(owner.get("apiVersion")), str(owner.get("kind"))) is not None:
            yield Trace("mentions", owner["apiVersion"], owner["kind"], *place, "metadata.ownerReferences", "")


def _applied(obj: Object) -> tuple[str, str]:
    text = annotations_of(obj).get(_LAST_APPLIED)
    try:
        last = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        last = None
    return (str(last.get("apiVersion")), str(last.get("kind"))) if isinstance(last, Mapping) else ("", "")


def _mentions(value: Any, path: str, gone: GoneTable, place: tuple[str, str, str]) -> Iterator[Trace]:
    if isinstance(value, Mapping):
        version, kind = value.get("apiVersion"), value.get("kind")
        if isinstance(version, str) and isinstance(kind, str) and gone.kind(version, kind) is not None:
            yield Trace("mentions", version, kind, *place, path, "")
        for name, inner in value.items():
            yield from _mentions(inner, f"{path}.{name}" if path else str(name), gone, place)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for index, inner in enumerate(value):
            yield from _mentions(inner, f"{path}[{index}]", gone, place)
    elif isinstance(value, str) and "apiVersion" in value:
        yield from _spelled(value, path, gone, place)


def _spelled(text: str, path: str, gone: GoneTable, place: tuple[str, str, str]) -> Iterator[Trace]:
    """Manifests in a text: a line with the version, and near it one with a kind that goes with it."""
    for each in gone.gone:
        spelled = (f"apiVersion: {each.api_version}\n", f'apiVersion: "{each.api_version}"', f'"{each.api_version}"')
        if any(form in f"{text}\n" for form in spelled) and each.kind in text:
            yield Trace("text", each.api_version, each.kind, *place, path, "")
