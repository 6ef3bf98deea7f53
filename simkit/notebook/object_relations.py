"""The owners, dependents and events of one object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd

from simkit.analysis.rbac.tables import table
from simkit.meta.domain import api_group
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.resources import index_of as resources_of

RELATION_COLUMNS: Final = ("relation", "kind", "namespace", "name", "controller", "resource")
EVENT_COLUMNS: Final = ("last_seen", "type", "reason", "message", "count", "source")
_EVENTS: Final = (GroupResource("", "events"), GroupResource(api_group("events"), "events"))
_MOST_OWNERS: Final = 20
"""Owners above an object that are followed; longer chains are circles."""


def relations_of(snapshot: Snapshot, obj: Object) -> pd.DataFrame:
    """The owners of an object, theirs, and the objects that name it as an owner.

    Returns
    -------
    DataFrame
        One row per object: relation (``owner``, ``owner of the owner``, ``dependent``), kind, namespace, name,
        controller (True if it is the managing owner), resource.

    Notes
    -----
    O(objects of the snapshot).
    """
    rows = [*_owners(snapshot, obj), *_dependents(snapshot, obj)]
    return table(rows, RELATION_COLUMNS)


def _references(obj: Object) -> list[Mapping[str, Any]]:
    listed = metadata(obj).get("ownerReferences")
    return [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []


def _owners(snapshot: Snapshot, obj: Object) -> Iterator[tuple[Any, ...]]:
    known, waiting, relation = resources_of(snapshot), [obj], "owner"
    for _ in range(_MOST_OWNERS):
        above: list[Object] = []
        for each in waiting:
            for reference in _references(each):
                kind, name = str(reference.get("kind", "")), str(reference.get("name", ""))
                resource = known.mapping(str(reference.get("apiVersion", "")), kind).resource
                found = snapshot.get(resource, name, namespace_of(obj)) or snapshot.get(resource, name)
                namespace = namespace_of(found if found is not None else obj)
                yield relation, kind, namespace, name, bool(reference.get("controller")), str(resource)
                above += [found] if found is not None else []
        waiting, relation = above, "owner of the owner"
        if not waiting:
            return


def _dependents(snapshot: Snapshot, obj: Object) -> Iterator[tuple[Any, ...]]:
    uid = metadata(obj).get("uid")
    for resource in sorted(snapshot.captured()):
        for each in snapshot.scan(resource):
            for reference in _references(each):
                if uid and reference.get("uid") == uid:
                    controls = bool(reference.get("controller"))
                    yield "dependent", each["kind"], namespace_of(each), name_of(each), controls, str(resource)


def events_of(snapshot: Snapshot, obj: Object) -> pd.DataFrame:
    """The events about an object, the latest first.

    Returns
    -------
    DataFrame
        One row per event: last_seen, type, reason, message, count, source.
    """
    rows = []
    for resource in _EVENTS:
        if resource not in snapshot.captured():
            continue
        for event in snapshot.scan(resource):
            about = event.get("involvedObject") or event.get("regarding") or {}
            if _is_about(about, obj):
                rows.append(_event(event))
    return table(sorted(set(rows), reverse=True), EVENT_COLUMNS)


def _is_about(about: Mapping[str, Any], obj: Object) -> bool:
    uid = metadata(obj).get("uid")
    if about.get("uid") and uid:
        return bool(about["uid"] == uid)
    named = (about.get("kind"), about.get("namespace") or "", about.get("name"))
    return named == (obj.get("kind"), namespace_of(obj), name_of(obj))


def _event(event: Object) -> tuple[Any, ...]:
    seen = event.get("lastTimestamp") or event.get("eventTime") or event.get("deprecatedLastTimestamp") or ""
    source = at(event, "source", "component") or event.get("reportingComponent") or event.get("reportingController")
    text = str(event.get("message") or event.get("note") or "")
    count = event.get("count") or at(event, "series", "count") or 1
    return str(seen), str(event.get("type", "")), str(event.get("reason", "")), text, int(count), str(source or "")
