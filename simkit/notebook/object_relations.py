"""One object in panels: its text, its owners, dependents and events, and who may do something with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import yaml

from simkit.analysis.access.who_can import who_can
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.analysis.rbac.tables import table
from simkit.logic.rbac.binding import CLUSTER_ROLES, ROLES
from simkit.meta.domain import api_group
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.present.progress import tracked
from simkit.present.readable_table import cut_short
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.resources import index_of as resources_of

if TYPE_CHECKING:
    import pandas as pd

    from simkit.cluster.cluster import Cluster


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


# The subjects that may do something with one object.

ACCESS_COLUMNS: Final = ("subject", "verbs", "bindings")
_HAS: Final = "has it"
_VERBS: Final = ("get", "list", "watch", "update", "patch", "delete", "create", "deletecollection")


def object_access(cluster: Cluster, key: Key) -> pd.DataFrame:
    """The subjects that may do something with an object, each with its verbs and the bindings that give them.

    Returns
    -------
    DataFrame
        One row per subject: subject, verbs, bindings. Verbs on the collection are those in its namespace; those on
        subresources (``pods/exec``) are written as ``create pods/exec``. Of a role, those come first to whom a binding
        grants it, with ``has it`` before their verbs.
    """
    resource = cluster.engine.catalogue.lookup(str(key.resource).rstrip("."))
    subresources = [(verb, name) for name, part in resource.subresources.items() for verb in part.verbs]
    asked = [(verb, "") for verb in _VERBS if verb in resource.verbs] + sorted(
        set(subresources), key=lambda pair: pair[1]
    )
    snapshot, namespace = cluster.snapshot(), key.namespace or None
    verbs: dict[str, dict[str, None]] = {}
    bindings: dict[str, dict[str, None]] = {}
    for each in index_of(snapshot).bindings_of(key) if key.resource in (ROLES, CLUSTER_ROLES) else ():
        for subject in map(text_of, map(normalize_subject, each.subjects)):
            verbs.setdefault(subject, {})[_HAS] = None
            bindings.setdefault(subject, {})[display_name(each.key)] = None
    for verb, part in tracked(asked, "asking who can"):
        what = f"{key.resource.resource}.{key.resource.group}" if key.resource.group else key.resource.resource
        name = key.name if verb not in ("create", "list", "watch", "deletecollection") or part else ""
        rows = who_can(snapshot, verb, what, subresource=part, name=name, namespace=namespace)
        for subject, kind, binding in zip(rows["subject"], rows["binding_kind"], rows["binding"]):
            verbs.setdefault(subject, {})[f"{verb} {key.resource.resource}/{part}" if part else verb] = None
            bindings.setdefault(subject, {})[f"{kind} {binding}".strip()] = None
    return table([(subject, tuple(verbs[subject]), tuple(bindings[subject])) for subject in verbs], ACCESS_COLUMNS)


# Objects as YAML for panels.

_HIDDEN: Final = "managedFields"


def object_yaml(value: Any, *, managed_fields: bool = False) -> str:
    """A value as YAML, without its managed fields unless wanted; of a huge text both ends."""
    if isinstance(value, dict) and not managed_fields and _HIDDEN in (value.get("metadata") or {}):
        kept = {name: part for name, part in value["metadata"].items() if name != _HIDDEN}
        value = {**value, "metadata": kept}
    return cut_short(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=110), 60_000)
