"""Deletes objects whose owners are gone, and carries out foreground and orphan deletion.

Upstream: pkg/controller/garbagecollector, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.lister import is_terminating, uid_of
from simkit.client.requests import delete
from simkit.client.resources import EVENTS
from simkit.client.work_queue import RequeueError, WorkQueue
from simkit.engine.controllers.ownership import DependencyGraph, owners_of
from simkit.meta.clock import Clock
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, GroupVersion, GroupVersionKind, Key
from simkit.meta.objects import Draft, Object, metadata
from simkit.schema.catalogue import Catalogue, Resource
from simkit.seams import Change
from simkit.seams.snapshot import Snapshot

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


class GarbageCollector:
    """Keeps a dependency graph, built from all objects once and then updated by changes.

    Events are no part of it, whatever owners they name (``ignoredResources`` of graph_builder.go).
    """

    name = "garbage-collector-controller"
    account = "generic-garbage-collector"

    def __init__(
        self,
        catalogue: Callable[[], Catalogue],
        clock: Clock,
        captured: Collection[GroupResource] | None = None,
    ) -> None:
        self._catalogue, self._captured = catalogue, captured
        self._ownership: DependencyGraph | None = None
        self.queue = WorkQueue[Key](self.name, clock)

    @property
    def next_time(self) -> float | None:
        return self.queue.next_time

    def reset_backoff(self) -> None:
        self.queue.retry_now()

    def resume_from(self, other: Any) -> None:
        self.queue.copy_from(other.queue)
        self._ownership = other._ownership.copy() if other._ownership is not None else None

    def concerns(self, change: Change) -> bool:
        """True for deleted objects, which may be owners, and for objects with owners or deletion finalizers."""
        if change.entry.key.resource == EVENTS:
            return False
        if change.type == "DELETED":
            return True
        meta = metadata(change.entry.object)
        if meta.get("ownerReferences") or (change.previous and metadata(change.previous.object).get("ownerReferences")):
            return True
        return bool(meta.get("deletionTimestamp") and meta.get("finalizers"))

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        """Look at what the changes concern; the removals that follow bring it back here."""
        if self._ownership is None or changes is None:
            self._ownership = DependencyGraph.of(self._every_object(snapshot))
        known = self._ownership
        keys = known.owned() | known.waiting() if changes is None else self._concerned(known, changes)
        self.queue.process(keys | self.queue.due(), lambda key: self._attempt_to_delete(client, snapshot, known, key))

    def _every_object(self, snapshot: Snapshot) -> Iterable[tuple[Key, Object]]:
        for resource in self._catalogue().stored():
            if resource.storage == EVENTS:
                continue
            for obj in snapshot.scan(resource.storage):
                meta = obj["metadata"]
                if "ownerReferences" in meta or "deletionTimestamp" in meta:
                    yield Key(resource.storage, meta.get("namespace", ""), meta["name"]), obj

    def _concerned(self, known: DependencyGraph, changes: Sequence[Change]) -> set[Key]:
        keys: set[Key] = set()
        for change in changes:
            key, obj = change.entry.key, change.entry.object
            if change.type == "DELETED":
                known.forget(key, uid_of(obj))
                keys |= known.dependents(uid_of(obj))
                keys |= known.holding_back(obj)
            else:
                known.note(key, obj)
                keys.add(key)
                if is_terminating(obj):
                    keys |= known.dependents(uid_of(obj))
                    keys |= known.holding_back(obj)
                elif change.previous is not None:
                    keys |= known.holding_back(change.previous.object)
        return keys

    # One object

    def _attempt_to_delete(self, client: Client, snapshot: Snapshot, known: DependencyGraph, key: Key) -> None:
        """Process an object, if it still exists. Raises RequeueError if a request failed."""
        obj = snapshot.get(key.resource, key.name, key.namespace)
        if obj is not None and not self._one(client, snapshot, known, key, obj):
            raise RequeueError

    def _one(self, client: Client, snapshot: Snapshot, known: DependencyGraph, key: Key, obj: Object) -> bool:
        """Do what an object needs; False if it has to be tried again."""
        finalizers = metadata(obj).get("finalizers") or ()
        if is_terminating(obj) and ORPHAN in finalizers:
            return self._orphan(client, snapshot, known, key, obj)
        if is_terminating(obj) and FOREGROUND in finalizers:
            return self._finish_foreground(client, snapshot, known, key, obj)
        return True if is_terminating(obj) else self._judge(client, snapshot, known, key, obj)

    def _orphan(self, client: Client, snapshot: Snapshot, known: DependencyGraph, key: Key, obj: Object) -> bool:
        """Cut the ties of dependents, then let the owner go."""
        done = True
        for dependent, found in _live(snapshot, known.dependents(uid_of(obj))):
            done &= self._disown(client, dependent, found, {uid_of(obj)})
        return done and self._drop_finalizer(client, key, obj, ORPHAN)

    def _finish_foreground(
        self, client: Client, snapshot: Snapshot, known: DependencyGraph, key: Key, obj: Object
    ) -> bool:
        """Let an owner go whose blocking dependents are gone. Those that are left are judged by themselves."""
        blocking = [
            dependent
            for dependent, found in _live(snapshot, known.dependents(uid_of(obj)))
            if any(owner.get("uid") == uid_of(obj) and owner.get("blockOwnerDeletion") for owner in owners_of(found))
        ]
        return bool(blocking) or self._drop_finalizer(client, key, obj, FOREGROUND)

    def _judge(self, client: Client, snapshot: Snapshot, known: DependencyGraph, key: Key, obj: Object) -> bool:
        """Remove an object all whose owners are gone; forget owners that are gone where others are left."""
        solid, absent, waiting = self._sorted_owners(snapshot, key, obj)
        if solid:
            return not (absent or waiting) or self._disown(client, key, obj, absent | waiting)
        if not absent and not waiting:
            return True
        if waiting:
            dependents = _live(snapshot, known.dependents(uid_of(obj)))
            if dependents:
                self._break_circles(client, dependents, obj)
                return self._delete(client, key, obj, "Foreground")
        finalizers = metadata(obj).get("finalizers") or ()
        policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        return self._delete(client, key, obj, policy)

    def _break_circles(self, client: Client, dependents: Sequence[tuple[Key, Object]], obj: Object) -> None:
        """A dependent that waits for its own dependents must not be waited for."""
        for key, found in dependents:
            if is_terminating(found) and FOREGROUND in (metadata(found).get("finalizers") or ()):
                unblocked = [{**owner, "blockOwnerDeletion": False} for owner in owners_of(found)]
                self._patch(client, key, found, {"ownerReferences": unblocked})
                return

    def _sorted_owners(self, snapshot: Snapshot, key: Key, obj: Object) -> tuple[set[str], set[str], set[str]]:
        """The uids of owners that are there, that are gone, and that wait for their dependents to go."""
        solid, absent, waiting = set[str](), set[str](), set[str]()
        for owner in owners_of(obj):
            uid, where = owner.get("uid", ""), self._place(key, owner)
            if where is None:
                solid.add(uid)
                continue
            found = snapshot.get(where.resource, where.name, where.namespace)
            if found is None or uid_of(found) != uid:
                absent.add(uid)
            elif is_terminating(found) and FOREGROUND in (metadata(found).get("finalizers") or ()):
                waiting.add(uid)
            else:
                solid.add(uid)
        return solid, absent, waiting

    def _place(self, dependent: Key, owner: Mapping[str, Any]) -> Key | None:
        """The key of an owner, None where it is unknown whether the owner exists."""
        group, version = GroupVersion.parse(owner.get("apiVersion", ""))
        resource = self._catalogue().kind(GroupVersionKind(group, version, owner.get("kind", "")))
        if resource is None or (self._captured is not None and resource.storage not in self._captured):
            return None
        if resource.namespaced and not dependent.namespace:
            return None
        return Key(resource.storage, dependent.namespace if resource.namespaced else "", owner.get("name", ""))

    # Requests

    def _path(self, key: Key) -> str:
        return self._resource(key.resource).path_to(key.name, key.namespace)

    def _resource(self, stored: GroupResource) -> Resource:
        found = self._catalogue().preferred(stored)
        return found or next(each for each in self._catalogue().stored() if each.storage == stored)

    def _disown(self, client: Client, key: Key, obj: Object, uids: set[str]) -> bool:
        left = [dict(owner) for owner in owners_of(obj) if owner.get("uid") not in uids]
        return self._patch(client, key, obj, {"ownerReferences": left or None})

    def _drop_finalizer(self, client: Client, key: Key, obj: Object, finalizer: str) -> bool:
        left = [name for name in metadata(obj).get("finalizers") or () if name != finalizer]
        return self._patch(client, key, obj, {"finalizers": left or None})

    def _patch(self, client: Client, key: Key, obj: Object, change: Draft) -> bool:
        meta = {"uid": uid_of(obj), "resourceVersion": metadata(obj).get("resourceVersion", ""), **change}
        media = "application/merge-patch+json"
        return _done(client.perform(Request.of("PATCH", self._path(key), {"metadata": meta}, content_type=media)))

    def _delete(self, client: Client, key: Key, obj: Object, policy: str) -> bool:
        return _done(delete(client, self._path(key), obj, policy, exactly=True))


def _done(response: Response) -> bool:
    """True if nothing is left to do: it worked, or a change that is still to be heard of came first."""
    return response.succeeded or response.status in (404, 409)


def _live(snapshot: Snapshot, keys: Iterable[Key]) -> list[tuple[Key, Object]]:
    found = [(key, snapshot.get(key.resource, key.name, key.namespace)) for key in sorted(keys)]
    return [(key, obj) for key, obj in found if obj is not None]
