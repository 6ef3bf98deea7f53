"""Owners and what they own: the graph by uid, adoption and release, revisions, and pods of a workload."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import create, expect, merge, remove, replace
from simkit.client.resources import PODS, REVISIONS
from simkit.client.work_queue import RequeueError
from simkit.logic.workloads import revisions as history
from simkit.logic.workloads.pods import owner_reference
from simkit.meta.labels import LabelSelector, of_object
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, controller_of, labels_of, metadata, name_of, namespace_of
from simkit.seams import Change

# The graph of owners and dependents by uid.
# Upstream: pkg/controller/garbagecollector/graph.go, release 1.30.


def owners_of(obj: Object) -> Sequence[Mapping[str, Any]]:
    """``metadata.ownerReferences``."""
    return metadata(obj).get("ownerReferences") or ()


_NOBODY: frozenset[Key] = frozenset()


class DependencyGraph:
    """The dependents of each uid, and the owners that wait for their dependents before they are deleted.

    Examples
    --------
    >>> from simkit.meta.names import GroupResource
    >>> key = Key(GroupResource("", "pods"), "a", "b")
    >>> known = DependencyGraph.of([(key, {"metadata": {"name": "b", "ownerReferences": [{"uid": "1"}]}})])
    >>> known.dependents("1") == {key}
    True
    """

    def __init__(self) -> None:
        self._dependents: dict[str, frozenset[Key]] = {}
        self._owners: dict[Key, tuple[str, ...]] = {}
        self._waiting: dict[str, Key] = {}
        """Owners that are going and held by finalizers, by uid."""

    @classmethod
    def of(cls, objects: Iterable[tuple[Key, Object]]) -> DependencyGraph:
        """The ownership among all objects of a cluster."""
        made = cls()
        for key, obj in objects:
            made.note(key, obj)
        return made

    def copy(self) -> DependencyGraph:
        """Another one that knows the same, and changes for itself."""
        made = DependencyGraph()
        made._dependents, made._owners = dict(self._dependents), dict(self._owners)
        made._waiting = dict(self._waiting)
        return made

    def note(self, key: Key, obj: Object) -> None:
        """An object is as it is now."""
        meta = obj["metadata"]
        owners = (owner.get("uid") for owner in meta.get("ownerReferences") or ())
        self._set(key, tuple(dict.fromkeys(filter(None, owners))))
        if is_terminating(obj) and meta.get("finalizers") and meta.get("uid"):
            self._waiting[meta["uid"]] = key

    def forget(self, key: Key, uid: str) -> None:
        """An object is gone."""
        self._set(key, ())
        self._waiting.pop(uid, None)

    def _set(self, key: Key, owners: tuple[str, ...]) -> None:
        before = self._owners.get(key, ())
        if before == owners:
            return
        for uid in before:
            left = self._dependents[uid] - {key}
            if left:
                self._dependents[uid] = left
            else:
                del self._dependents[uid]
        for uid in owners:
            self._dependents[uid] = self._dependents.get(uid, _NOBODY) | {key}
        if owners:
            self._owners[key] = owners
        else:
            self._owners.pop(key, None)

    def dependents(self, uid: str) -> set[Key]:
        """The objects that an object owns."""
        return set(self._dependents.get(uid, _NOBODY))

    def owned(self) -> set[Key]:
        """Everything that has an owner."""
        return set(self._owners)

    def waiting(self) -> set[Key]:
        """Everything that is going and held by a finalizer."""
        return set(self._waiting.values())

    def holding_back(self, obj: Object) -> set[Key]:
        """The owners of an object that wait for it."""
        uids = [owner.get("uid", "") for owner in owners_of(obj)]
        return {self._waiting[uid] for uid in uids if uid in self._waiting}


# Adopts matching objects without a controller, and releases owned objects that no longer match.
# Upstream: pkg/controller/controller_ref_manager.go, release 1.30.


def _any(_: Object) -> bool:
    return True


class UnmatchedTemplate(Exception):
    """A workload whose selector does not match its own template, which validation refuses, but a dump may hold."""


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """The rules by which an owner adopts and releases objects."""

    selector: LabelSelector
    member: Callable[[Object], bool] = _any
    """A further condition for objects besides the selector."""
    looks_at: Callable[[Object], bool] = _any
    """Others are neither taken in nor let go."""
    finalizer: str = ""
    """The finalizer that adopted objects get, and that released ones lose."""

    def takes(self, obj: Object) -> bool:
        """True if an object is to be the owner's."""
        return self.selector.matches(labels_of(obj)) and self.member(obj)


def claim(
    client: Client,
    lister: Lister,
    resource: GroupResource,
    owner: Object,
    reference: Mapping[str, Any],
    wanted: ClaimRules,
) -> Sequence[Object] | None:
    """The objects that an owner has. None: somebody was taken in or let go just now, and is to be seen first."""
    _check_template(owner, wanted)
    namespace, uid, changed = namespace_of(owner), uid_of(owner), False
    held: list[Object] = []
    for obj in filter(wanted.looks_at, lister.controlled(resource, namespace, uid) if uid else ()):
        if wanted.takes(obj):
            held.append(obj)
        elif not is_terminating(owner):
            left = [dict(each) for each in metadata(obj)["ownerReferences"] if each.get("uid") != uid]
            _set_owners(client, resource, obj, left, [each for each in _finalizers(obj) if each != wanted.finalizer])
            changed = True
    if not is_terminating(owner) and wanted.selector:
        for obj in filter(wanted.looks_at, lister.controlled(resource, namespace, "")):
            if wanted.takes(obj) and not is_terminating(obj):
                owners = [*owners_of(obj), dict(reference)]
                added = [wanted.finalizer] if wanted.finalizer else []
                _set_owners(client, resource, obj, owners, list(dict.fromkeys([*_finalizers(obj), *added])))
                changed = True
    return None if changed else held


def _check_template(owner: Object, wanted: ClaimRules) -> None:
    """Raise UnmatchedTemplate for an owner of a dump that could never have what it makes."""
    template = at(owner, "spec", "template")
    if template and not is_terminating(owner) and not wanted.selector.matches(labels_of(template)):
        raise UnmatchedTemplate("the selector does not match the labels of the template")


def _finalizers(obj: Object) -> Sequence[str]:
    return metadata(obj).get("finalizers") or ()


def _set_owners(
    client: Client, resource: GroupResource, obj: Object, owners: Sequence[Mapping[str, Any]], finalizers: Sequence[str]
) -> None:
    meta = {"uid": uid_of(obj), "resourceVersion": metadata(obj)["resourceVersion"], "ownerReferences": owners or None}
    if finalizers != _finalizers(obj):
        meta["finalizers"] = finalizers or None
    expect(merge(client, resource, obj, {"metadata": meta}), 404, 409)


def owners_concerned(
    change: Change,
    lister: Lister,
    owners: GroupResource,
    kind: str,
    claimed: GroupResource,
    selector: Callable[[Object], LabelSelector],
) -> list[Key]:
    """The owners to look at because of a change: of their own, of what they have or had, of what they may take in."""
    key, obj = change.entry.key, change.entry.object
    if key.resource == owners:
        return [key]
    names = set(owner_names(obj, kind))
    previous = None if change.previous is None else change.previous.object
    if previous is not None and metadata(previous).get("ownerReferences") != metadata(obj).get("ownerReferences"):
        names.update(owner_names(previous, kind))
    if not names and key.resource == claimed and controller_of(obj) is None:
        candidates = lister.scan(owners, key.namespace)
        names.update(name_of(each) for each in candidates if selector(each).matches(labels_of(obj)))
    return [Key(owners, key.namespace, name) for name in names]


def selector_of(owner: Object) -> LabelSelector:
    """``spec.selector``."""
    return of_object(at(owner, "spec", "selector"))


def owner_names(obj: Object, kind: str) -> list[str]:
    """The name of an object's controller if it is of a kind."""
    owner = controller_of(obj)
    name = (owner or {}).get("name")
    return [name] if owner is not None and name and owner.get("kind") == kind else []


# Keeps the ControllerRevisions of a workload: creates, adopts, renumbers and truncates them.
# Upstream: pkg/controller/history, release 1.30.

_TRIES = 16


class WorkloadHistory(NamedTuple):
    """The revisions and pods that a workload owns, with the revision of its present template."""

    reference: Mapping[str, Any]
    """The owner reference to the workload."""
    revisions: Sequence[Object]
    pods: Sequence[Object]
    update: Object
    """The revision of its template."""


def claim_history(
    client: Client, lister: Lister, owner: Object, kind: str, member: Callable[[Object], bool]
) -> WorkloadHistory | None:
    """The objects of a workload whose pods have to be something besides selected.

    None: something was taken in, let go or made just now, and is to be seen first.
    """
    reference, selector = owner_reference("apps/v1", kind, owner), selector_of(owner)
    revisions = claim(client, lister, REVISIONS, owner, reference, ClaimRules(selector))
    pods = claim(client, lister, PODS, owner, reference, ClaimRules(selector, member))
    if revisions is None or pods is None:
        return None
    update = current_revision(client, owner, reference, revisions)
    return WorkloadHistory(reference, revisions, pods, update) if update is not None else None


def current_revision(
    client: Client, owner: Object, reference: Mapping[str, Any], known: Sequence[Object]
) -> Object | None:
    """The revision of the owner's template. None: it was made or renumbered just now, and is to be seen first."""
    last = history.ordered(known)[-1:]
    number = (last[0].get("revision") or 0) if last else 0
    found = history.present(owner, known)
    if found is None:
        _make(client, owner, reference, number + 1)
        return None
    if found.get("revision") != number:  # an old template has come back
        expect(replace(client, REVISIONS, {**found, "revision": number + 1}), 404, 409)
        return None
    return found


def _make(client: Client, owner: Object, reference: Mapping[str, Any], number: int) -> None:
    collisions = at(owner, "status", "collisionCount") or 0
    for more in range(_TRIES):
        made = history.made(owner, reference, number, collisions + more)
        response = create(client, REVISIONS, metadata(owner)["namespace"], made)
        if response.succeeded:
            return
        if response.status != 409:
            raise RequeueError(str(response.object.get("message")))
    raise RequeueError(f"no name is left for a revision of {name_of(owner)}")


def truncate_history(
    client: Client, owner: Object, known: Sequence[Object], used: Collection[str], *, counted: int = 0
) -> None:
    """Remove the oldest revisions that nothing uses, beyond those that the owner keeps.

    ``counted``: as many that are used take up room among these.
    """
    limit = at(owner, "spec", "revisionHistoryLimit")
    if limit is not None and limit < 0:
        return  # a mistake that the server takes: everything is kept
    unused = [each for each in history.ordered(known) if name_of(each) not in used]
    for each in unused[: max(0, len(unused) + counted - (10 if limit is None else limit))]:
        remove(client, REVISIONS, each)


# Creates and deletes the pods of a workload, and records Events about it.
# Upstream: pkg/controller/controller_utils.go, release 1.30.

MOST_AT_ONCE: Final = 500
"""The most pods that one sync of a workload creates or deletes: BurstReplicas, MaxPodCreateDeletePerSync."""


class PodControl:
    """The pods of one kind of workload."""

    def __init__(self, events: EventRecorder) -> None:
        self._events = events

    def create(self, client: Client, owner: Object, pod: Object) -> str:
        """Make a pod; gives back why it could not be made, nothing where it was."""
        response = create(client, PODS, namespace_of(owner), pod)
        if response.succeeded:
            self._events.event(client, owner, "SuccessfulCreate", f"Created pod: {name_of(response.shown)}")
            return ""
        message = str(response.object.get("message"))
        self._events.event(client, owner, "FailedCreate", f"Error creating: {message}", warning=True)
        return message

    def remove(self, client: Client, owner: Object, pod: Object) -> None:
        """Remove a pod; that it is gone already is no failure."""
        if remove(client, PODS, pod).succeeded:
            self._events.event(client, owner, "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
