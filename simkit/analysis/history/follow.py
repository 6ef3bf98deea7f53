"""Access to a running cluster as it changes: what a write grants, which escalation paths it opens, how to undo it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from threading import Event
from time import monotonic, time
from typing import Any, Final

from simkit.analysis.access.compare import COLUMNS as COMPARED
from simkit.analysis.access.compare import access_changes, changed_permissions
from simkit.analysis.access.expectations import Suite, check
from simkit.analysis.caveats import caveats_of
from simkit.analysis.escalation.cut.aggregation import as_settled
from simkit.analysis.escalation.cut.remedy import way_back
from simkit.analysis.escalation.find.graph import derive_graph, forget_graph
from simkit.analysis.escalation.find.path_comparison import Paths, paths_of, paths_of_strangers
from simkit.analysis.escalation.find.queries import WELL_KNOWN
from simkit.analysis.history.recorded import WriteAuthors
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.rbac.index import NO_MEMBERS
from simkit.analysis.rbac.objects import RBAC, display_name
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rbac.tables import records
from simkit.analysis.rendering import html_lines
from simkit.logic.rbac.binding import CLUSTER_ROLES, ROLES, Binding, Subject
from simkit.logic.workloads.pods import has_ended
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, name_of, namespace_of, with_metadata
from simkit.meta.visible_text import one_line
from simkit.seams.authorization import Authorization
from simkit.seams.caveats import Caveat
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.field_types import first_mismatch
from simkit.snapshot.live import LiveCluster
from simkit.snapshot.live_watch import ObjectChange, follow_all, listed_watches
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.report import Report
from simkit.snapshot.resources import index_of
from simkit.snapshot.sources import Source
from simkit.snapshot.withhold import is_secret, withheld

FOLLOWED: Final = frozenset(
    (
        *("roles", "clusterroles", "rolebindings", "clusterrolebindings", "serviceaccounts", "namespaces", "secrets"),
        *("pods", "nodes", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs"),
        *("certificatesigningrequests", "validatingadmissionpolicies", "validatingadmissionpolicybindings"),
        *("customresourcedefinitions", "replicationcontrollers", "persistentvolumes"),
        *("users", "groups", "securitycontextconstraints"),
    )
)
"""The resources whose objects decide who can do what, and how somebody could get more."""
TOGETHER: Final = 0.3
"""Seconds for which changes are collected."""
_APART: Final = 20
"""Up to so many changes are told apart, each with its own author and way back; more are together."""
_RBAC_KINDS: Final = frozenset(("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"))
_LAYERS: Final = 50
"""Changes after which the objects are indexed anew, so that memory stays as it is."""
SECRETS: Final = GroupResource("", "secrets")
_OF_SERVERS: Final = dict.fromkeys(("managedFields", "resourceVersion", "generation"))


@dataclass(frozen=True, slots=True)
class AccessEvent:
    """One consequence of a write.

    Attributes
    ----------
    time
        In seconds since the epoch.
    kind
        ``granted``, ``taken away``, ``path opened``, ``path closed`` or ``expectation broken``.
    subject, what
        Who it is about, and what they gained or lost.
    objects
        What was written or deleted: ``ClusterRoleBinding oops``.
    author
        The user of the write, as the audit log tells; without a log the field manager, empty for a deletion.
    undo
        The kubectl commands that take the write back. A deleted Secret has none, since its values are not kept.
    caveats
        The limits of what is known of access to the cluster, such as access that its provider grants.
    """

    time: float
    kind: str
    subject: str
    what: str
    objects: tuple[str, ...]
    author: str
    undo: tuple[str, ...]
    caveats: tuple[str, ...] = ()

    @property
    def severity(self) -> str:
        """``high`` for what lets somebody do more than before, and for a broken expectation; else ``info``."""
        return "info" if self.kind in ("taken away", "path closed") else "high"

    def to_dict(self) -> dict[str, object]:
        """The event for JSON."""
        return {
            "time": self.time,
            "kind": self.kind,
            "severity": self.severity,
            "subject": self.subject,
            "what": self.what,
            "objects": list(self.objects),
            "author": self.author,
            "undo": list(self.undo),
            "caveats": list(self.caveats),
        }

    def __str__(self) -> str:
        by = f" by {self.author}" if self.author else ""
        return f"{self.kind}: {self.subject}: {self.what} ({', '.join(self.objects)}{by})"

    def _repr_html_(self) -> str:
        return html_lines((str(self), *(f"    undo: {one}" for one in self.undo)))


class AccessFollower:
    """The consequences of changes for access, one batch after the other.

    Parameters
    ----------
    objects
        The objects that are there at first.
    release
        The release of the cluster.
    captured
        What the objects are all of.
    goals
        What an attacker may want, as for ``escalations``.
    expectations
        Expectations about access that shall hold: see ``check``.
    authorization
        The authorizers of the cluster; by default those that its objects show.
    authors
        The users of writes, as an audit log tells them.

    Notes
    -----
    O(changed objects and what depends on them); a definition of custom resources or an admission policy costs a search
    of all paths. Other changes of a status than that of the phase, and that a pod runs, cost nothing.
    """

    def __init__(
        self,
        objects: Iterable[Object],
        release: str,
        captured: Iterable[Any],
        *,
        goals: Sequence[str] = WELL_KNOWN,
        members: Members = NO_MEMBERS,
        expectations: Suite | None = None,
        authorization: Authorization | None = None,
        authors: WriteAuthors | None = None,
    ) -> None:
        self._authors = authors
        self._release, self._captured = release, tuple(captured)
        self._goals, self._members, self._expectations = tuple(goals), members, expectations
        self._layers = 0
        self.snapshot: Snapshot = MemorySnapshot(
            map(_kept, objects), release, captured=self._captured, authorization=authorization
        )
        """The cluster as it is known now."""
        self._failing = self._broken(self.snapshot)
        self._paths = _in_words(paths_of(self.snapshot, self._goals, self._members))

    def take(
        self, changes: Sequence[ObjectChange], now: float | None = None, *, apart: bool = False
    ) -> list[AccessEvent]:
        """Go on to the cluster after some changes, and tell what they changed for access; with ``apart``, what each
        of them did.
        """
        before, put, gone = self.snapshot, list[Object](), list[Key]()
        for key, change in {self._key(one.object): one for one in changes}.items():
            known = before.get(key.resource, key.name, key.namespace)
            if change.deleted and known is not None:
                gone.append(key)
            elif not change.deleted and (known is None or _state(known) != _state(_kept(change.object))):
                put.append(_kept(change.object))
        if not put and not gone:
            return []
        after = as_settled(before, put, gone)
        paths, failing = _in_words(paths_of(after, self._goals, self._members)), self._broken(after)
        events = list(self._events(after, paths, failing, put, gone, time() if now is None else now))
        if apart and events and len(changes) > 1:
            half = len(changes) // 2
            return [one for part in (changes[:half], changes[half:]) for one in self.take(part, now, apart=True)]
        self._paths, self._failing = paths, failing
        self._move_to(after)
        users = [*(self._author(self._key(obj), obj) for obj in put), *map(self._author, gone)]
        author = one_line(", ".join(dict.fromkeys(filter(None, users))))
        return [replace(event, author=author) for event in events]

    def _author(self, key: Key, obj: Object | None = None) -> str:
        """Who wrote an object, as far as that is known."""
        user = "" if self._authors is None else self._authors.of(key)
        return user or ("" if obj is None else _manager(obj))

    def _key(self, obj: Object) -> Key:
        return index_of(self.snapshot).keyed(obj)[0]

    def _move_to(self, after: Snapshot) -> None:
        forget_graph(self.snapshot)
        self.snapshot, self._layers = after, self._layers + 1
        if self._layers >= _LAYERS:
            every = [obj for resource in after.captured() for obj in after.scan(resource)]
            told = after.authorization
            self.snapshot = MemorySnapshot(every, self._release, captured=self._captured, authorization=told)
            self._layers = 0
            derive_graph(after, self.snapshot, ())
            paths_of(self.snapshot, self._goals, self._members)  # after which the earlier graph is let go
            forget_graph(after)

    def _events(
        self,
        after: Snapshot,
        paths: dict[tuple[str, str], str],
        failing: frozenset[str],
        put: Sequence[Object],
        gone: Sequence[Key],
        now: float,
    ) -> Iterator[AccessEvent]:
        before = self.snapshot
        made = [*(Change(self._key(obj), obj) for obj in put), *(Change(key, None) for key in gone)]
        keys = [change.key for change in made]
        known = [one for one in made if one.obj is not None or one.key.resource != SECRETS]  # of others all is known
        written = {
            "objects": tuple(one_line(display_name(key)) for key in keys),
            "author": "",
            "caveats": tuple(one.text for one in caveats_of(after)),
            "undo": tuple(way_back(known, before)),
        }

        def event(kind: str, subject: str, what: str) -> AccessEvent:
            return AccessEvent(now, kind, one_line(subject), one_line(what), **written)  # type: ignore[arg-type]

        if any(key.resource in RBAC for key in keys):
            rows = records(changed_permissions(before, after, self._touched(made)), COMPARED)
            for one in access_changes(rows):
                where = "everywhere" if one.scope == "*" else f"in {one.scope}"
                kind = "granted" if one.change == "gained" else "taken away"
                yield event(kind, one.subject, f"{', '.join(one.verbs)} {', '.join(one.resources)} {where}")
        asked = self._goals, self._members
        old = self._paths | _in_words(paths_of_strangers(before, paths, self._paths, *asked))
        new = paths | _in_words(paths_of_strangers(after, old, paths, *asked))
        yield from (event("path opened", who, new[who, goal]) for who, goal in new.keys() - old.keys())
        yield from (event("path closed", who, old[who, goal]) for who, goal in old.keys() - new.keys())
        yield from (event("expectation broken", "", name) for name in sorted(failing - self._failing))

    def _touched(self, made: Iterable[Change]) -> list[Subject] | None:
        """The subjects whose permissions changes of bindings may concern; None for all, as where roles change."""
        subjects = list[Subject]()
        for change in made:
            if change.key.resource in (ROLES, CLUSTER_ROLES):
                return None
            if change.key.resource in RBAC:
                known = self.snapshot.get(change.key.resource, change.key.name, change.key.namespace)
                for obj in (known, change.obj):
                    subjects += Binding.of(change.key, obj).subjects if obj is not None else ()
        return subjects

    def _broken(self, snapshot: Snapshot) -> frozenset[str]:
        if self._expectations is None:
            return frozenset()
        rows = check(snapshot, self._expectations).to_frame()
        return frozenset(rows.loc[~rows["met"], "expectation"])


def follow(
    live: LiveCluster,
    *,
    ended: Event,
    started: Callable[[int, Sequence[Caveat]], object],
    refused: Callable[[str], object],
    goals: Sequence[str] = WELL_KNOWN,
    members: Members = NO_MEMBERS,
    expectations: Suite | None = None,
    cloud: Source | None = None,
    audit_log: str | Path | None = None,
) -> Iterator[AccessEvent]:
    """The changes of access to a running cluster, as they happen, until somebody sets ``ended``.

    Parameters
    ----------
    live
        The cluster: see ``LiveCluster``.
    started
        Called when all objects are listed and the watches begin, with their number and with the limits of what is known
        of access to the cluster.
    refused
        Called with the server's words for each resource that may not be listed: it counts as not captured. Also
        called with the reason when the changes of a resource do not go on.
    goals, members, expectations
        As of ``AccessFollower``.
    cloud
        The export of the provider of a managed cluster, as for ``simkit.load``.
    audit_log
        The audit log of kube-apiserver, which grows: it names the users of writes.

    Yields
    ------
    AccessEvent
        What a write granted, took away, opened, closed or broke.

    Raises
    ------
    SimkitError
        Where the server cannot be reached, or roles and bindings may not be listed.

    Notes
    -----
    A thread and a connection for each resource. A watch that breaks goes on from the last version; where the server
    does not know it any more, the resource is listed again, so that the state after a gap is told, and not its steps.
    """
    listed, changes, release = list[ObjectChange](), Queue[ObjectChange](), live.release()

    def readable(take: Callable[[ObjectChange], object]) -> Callable[[ObjectChange], object]:
        """``take`` for objects that a server of the release could have; of others it is told that they are left out."""

        def taken(change: ObjectChange) -> None:
            wrong = first_mismatch(change.object, release)
            if wrong is None:
                take(change)
            else:
                refused(f"{change.object['kind']} {name_of(change.object)} was left out: {wrong}")

        return taken

    chosen = {path: resource for path, resource in live.watchable().items() if resource.resource in FOLLOWED}
    watches = listed_watches(live, chosen, ended, take=readable(listed.append), refused=refused)
    objects, captured = [one.object for one in listed], [watch.resource for watch in watches]
    authors = None if audit_log is None else WriteAuthors(audit_log, FOLLOWED)
    told = None if cloud is None else _with_cloud(MemorySnapshot(objects, release, captured=captured), cloud, refused)
    follower = AccessFollower(
        objects,
        release,
        captured,
        goals=goals,
        members=members,
        expectations=expectations,
        authorization=told,
        authors=authors,
    )
    follow_all(watches, readable(changes.put), refused)
    started(len(objects), caveats_of(follower.snapshot))
    try:
        while not ended.is_set():
            batch = _batch(changes)
            for part in _parts(batch) if len(batch) <= _APART else [batch]:
                yield from follower.take(part, apart=len(batch) <= _APART)
    finally:
        ended.set()
        for watch in watches:
            watch.close()
        if authors is not None:
            authors.close()


def _with_cloud(snapshot: Snapshot, cloud: Source, refused: Callable[[str], object]) -> Authorization:
    """The authorizers of a cluster with an export; what of the export is not read is told."""
    from simkit.snapshot.cloud.exports import authorization_of, read_export

    report = Report()
    chain = authorization_of(snapshot.authorization, read_export(cloud, report), snapshot)
    for problem in report:
        refused(str(problem))
    return chain


def _batch(changes: Queue[ObjectChange]) -> list[ObjectChange]:
    """The changes that come together; none after a while in which none came."""
    found = list[ObjectChange]()
    until = monotonic() + TOGETHER
    while True:
        try:
            found.append(changes.get(timeout=max(0.01, until - monotonic())))
        except Empty:
            return found
        if monotonic() > until:
            return found


def _parts(batch: Iterable[ObjectChange]) -> Iterator[list[ObjectChange]]:
    """The changes that are judged in one step: of roles and bindings each alone, of others different objects."""
    part: dict[tuple[str, str, str], ObjectChange] = {}
    for change in batch:
        kind, place = str(change.object.get("kind")), (namespace_of(change.object), name_of(change.object))
        if part and (kind in _RBAC_KINDS or (kind, *place) in part):
            yield list(part.values())
            part = {}
        if kind in _RBAC_KINDS:
            yield [change]
        else:
            part[kind, *place] = change
    if part:
        yield list(part.values())


def _kept(obj: Object) -> Object:
    """An object as it is kept: without values of secrets."""
    return withheld(obj) if is_secret(obj) else obj


def _state(obj: Object) -> Mapping[str, Any]:
    """What of an object matters for access: of its status only the phase, and not what the server counts."""
    phase = has_ended(obj) if obj.get("kind") == "Pod" else at(obj, "status", "phase")
    return {**with_metadata(obj, **_OF_SERVERS), "status": phase}


def _manager(obj: Object) -> str:
    """The field manager of the last write of an object, as its managed fields tell."""
    entries = [one for one in at(obj, "metadata", "managedFields") or () if not one.get("subresource")]
    last: Mapping[str, Any] = max(entries, key=lambda one: str(one.get("time") or ""), default={})
    return str(last.get("manager") or "")


def _in_words(paths: Paths) -> dict[tuple[str, str], str]:
    """The goal and the steps of paths, without the graphs in which they were found."""
    titles = ((key, path, ", ".join(step.primitive.title for step in path.steps)) for key, path in paths.items())
    return {key: f"{path.goal.name}: {steps or 'has it'}" for key, path, steps in titles}
