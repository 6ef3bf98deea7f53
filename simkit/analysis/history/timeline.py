"""The writes that audit logs record, and the states of each object between the moments at which it is known."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, Literal
from urllib.parse import parse_qs

from simkit.analysis.audit_log.span import event_time, seconds_of
from simkit.analysis.rbac.subject import text_of_user
from simkit.language.merge.mergepatch import merge_patch
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, with_metadata
from simkit.schema.releases import BASE
from simkit.snapshot.field_types import first_mismatch

_WRITES: Final = frozenset(("create", "update", "patch", "delete", "deletecollection"))
_PARTS: Final = frozenset(("", "finalize"))
"""Subresources whose writes may change what an object says; the status of an object grants nothing."""


_GENERATED: Final = "(generated name)"
"""How names begin that stand for generated names; no object of Kubernetes is called so."""


class Unknown(Enum):
    """The only value says that an object may have any content."""

    CONTENT = "unknown"

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = Unknown.CONTENT
State = Object | Literal[Unknown.CONTENT] | None
"""An object; ``UNKNOWN`` for one whose content is not known, or of which it is not known whether it exists; None for
one that does not exist."""


@dataclass(frozen=True, slots=True)
class RecordedWrite:
    """One successful write.

    Attributes
    ----------
    time
        When it was answered, in seconds since the epoch.
    key
        The object; of a deletion of many the name is empty, of a creation whose generated name is not in the log it is
        one that no object has.
    user
        The user who wrote; with ``impersonator``, the user as whom somebody else wrote.
    after
        The object afterwards, as far as the level of the audit policy tells it.
    created
        Whether the object did not exist before.
    patch
        The body of a patch, where the object itself is not in the log.
    """

    time: float
    key: Key
    verb: str
    user: str
    after: State
    created: bool = False
    patch: Mapping[str, Any] | None = None
    audit_id: str = ""
    impersonator: str = ""

    @property
    def author(self) -> str:
        """Who wrote, and as whom if that was somebody else: ``user:mallory as user:root``."""
        user = text_of_user(self.user)
        return f"{text_of_user(self.impersonator)} as {user}" if self.impersonator else user

    @property
    def identity(self) -> tuple[object, ...] | None:
        """What only the same event has again, as where exports overlap; None without an audit id."""
        return (self.audit_id, self.time, self.key, self.verb, self.user) if self.audit_id else None

    @property
    def unnamed(self) -> bool:
        """True for the creation of an object whose generated name is not in the log."""
        return self.key.name.startswith(_GENERATED)


def writes_of(events: Iterable[Object]) -> Iterator[RecordedWrite]:
    """The successful writes among audit events. Dry runs, refusals and other stages are left out."""
    for event in events:
        if event.get("verb") in _WRITES and _is_done(event):
            found = _write(event, event.get("objectRef") or {})
            if found is not None:
                yield found


def _is_done(event: Object) -> bool:
    if event.get("stage", "ResponseComplete") != "ResponseComplete":
        return False
    code = at(event, "responseStatus", "code")
    query = parse_qs(str(event.get("requestURI") or "").partition("?")[2])
    return (code is None or 200 <= code < 300) and not query.get("dryRun")


def _write(event: Object, reference: Mapping[str, Any]) -> RecordedWrite | None:
    time = event_time(event)
    if time is None or reference.get("subresource", "") not in _PARTS or not reference.get("resource"):
        return None
    verb, response = str(event.get("verb")), event.get("responseObject")
    audit_id = str(event.get("auditID") or "")
    name = str(reference.get("name") or at(response, "metadata", "name") or "")
    if not name and verb == "create":
        name = f"{_GENERATED} {audit_id or time}"
    resource = GroupResource(str(reference.get("apiGroup") or ""), str(reference["resource"]))
    key = Key(resource, str(reference.get("namespace") or ""), name)
    sender = str(at(event, "user", "username") or "")
    impersonated = str(at(event, "impersonatedUser", "username") or "")
    if not name and verb != "deletecollection":
        return None
    after: State = UNKNOWN
    created, patch, request = verb == "create", None, event.get("requestObject")
    if verb == "delete":
        after = _after_deletion(event)
    elif verb != "deletecollection" and not name.startswith(_GENERATED):
        known = _object(response, key) or (_object(request, key) if verb != "patch" else None)
        after, created = known or UNKNOWN, created or at(event, "responseStatus", "code") == 201
        patch = request if known is None and verb == "patch" and _is_merge(request) else None
    behind = sender if impersonated else ""
    return RecordedWrite(time, key, verb, impersonated or sender, after, created, patch, audit_id, behind)


def _after_deletion(event: Object) -> State:
    """Nothing, or the object if a finalizer or a grace period keeps it; unknown if the answer is not in the log."""
    response = event.get("responseObject")
    if not isinstance(response, Mapping) or not isinstance(metadata(response), Mapping):
        return UNKNOWN
    if response.get("kind") != "Status" and (
        metadata(response).get("finalizers") or metadata(response).get("deletionGracePeriodSeconds")
    ):
        return response
    return None


def _object(value: Any, key: Key) -> Object | None:
    """A body as the object of a key; None for a Status, a part of an object and anything else."""
    if not isinstance(value, Mapping) or value.get("kind") in (None, "Status") or not value.get("apiVersion"):
        return None
    if key.resource.group == "" and value.get("kind") == "Namespace" and not key.name:
        return None
    if first_mismatch(value, BASE) is not None:  # a collector rewrote it: no server stores such an object
        return None
    place = {"namespace": key.namespace} if key.namespace else {}
    return with_metadata(value, name=key.name, **place)


def _is_merge(value: Any) -> bool:
    """True for a merge patch; an object as server-side apply sends it has owners that the log does not tell."""
    return isinstance(value, Mapping) and not (value.get("apiVersion") and value.get("kind"))


def patched(before: State, patch: Mapping[str, Any]) -> State:
    """An object after a merge patch; unknown if it was unknown.

    Strategic merge patches of roles and bindings do the same, since their lists are replaced as a whole.
    """
    if before is UNKNOWN or before is None:
        return UNKNOWN
    if any(isinstance(value, list) and name not in ("rules", "subjects") for name, value in patch.items()):
        return UNKNOWN
    if any(name.startswith("$") for name in _names(patch)):
        return UNKNOWN
    merged: Object = merge_patch(before, patch)
    return merged


def deleted(before: State) -> State:
    """An object after a deletion whose answer is not in the log: finalizers keep it."""
    if before is UNKNOWN or before is None:
        return before
    return before if metadata(before).get("finalizers") else None


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _names(inner)


def latest_moment(objects: Sequence[Object]) -> float | None:
    """The latest moment that objects tell: creation, fields that somebody manages, or the renewal of a lease."""
    found: list[float] = []
    for obj in objects:
        about = metadata(obj)
        texts = [about.get("creationTimestamp"), at(obj, "spec", "renewTime"), obj.get("lastTimestamp")]
        texts += [entry.get("time") for entry in about.get("managedFields") or () if isinstance(entry, Mapping)]
        found += [moment for text in texts if text and (moment := seconds_of(text)) is not None]
    return max(found, default=None)


NEAR: Final = 300.0
"""Seconds before the first or after the last event of a log within which a dump counts as covered by it."""

_ROUNDED: Final = 1.0
"""Seconds by which the moment of a creation in the log may differ from the one that the object tells."""


@dataclass(frozen=True, slots=True)
class DumpedMoment:
    """The objects of a dump at a moment, in seconds since the epoch."""

    time: float
    objects: Mapping[Key, Object]
    captured: frozenset[GroupResource]


@dataclass(frozen=True, slots=True)
class Point:
    """What is known of one object at one moment: its state just before and just after."""

    time: float
    before: State
    after: State
    write: RecordedWrite | None = None
    knows_before: bool = True
    """False if the moment says nothing of the state before it."""


@dataclass(frozen=True)
class Timeline:
    """What is known of all objects over time.

    Attributes
    ----------
    points
        The points of each object, in order.
    dumps
        The moments at which everything is known.
    covered
        The first and the last moment between which every write is in the log; None without a log.
    repeated
        The writes that the log has more than once.
    """

    points: Mapping[Key, Sequence[Point]]
    dumps: tuple[DumpedMoment, ...]
    covered: tuple[float, float] | None
    repeated: int = 0
    _times: dict[Key, list[float]] = field(default_factory=dict, repr=False)

    def is_covered(self, time: float) -> bool:
        """True if a moment is that of a dump, or between moments of the log."""
        inside = self.covered is not None and self.covered[0] <= time <= self.covered[1]
        return inside or any(one.time == time for one in self.dumps)

    def state(self, key: Key, time: float) -> State:
        """The state of an object at a moment that is covered, after what happened at that moment."""
        points = self.points.get(key, ())
        times = self._times.setdefault(key, [point.time for point in points])
        place = bisect.bisect_right(times, time)
        earlier = points[place - 1] if place else None
        if earlier is not None and earlier.after is not UNKNOWN and self.holds_all_between(earlier.time, time):
            return earlier.after
        later = points[place] if place < len(points) else None
        if later is not None and later.knows_before and self.holds_all_between(time, later.time):
            return later.before
        return UNKNOWN

    def is_complete(self, resource: GroupResource, time: float) -> bool:
        """True if all objects of a resource are known at a moment, from a dump and what was written since or before."""
        spans = (sorted((dump.time, time)) for dump in self.dumps if resource in dump.captured)
        return any(self.holds_all_between(start, end) for start, end in spans)

    def holds_all_between(self, start: float, end: float) -> bool:
        """True if every write between two moments would be in the log."""
        return _holds(self.covered, start, end)

    def writes(self) -> Iterator[RecordedWrite]:
        """The writes, oldest first."""
        found = (point.write for points in self.points.values() for point in points if point.write is not None)
        yield from sorted(found, key=lambda write: write.time)


def timeline_of(
    dumps: Iterable[DumpedMoment], writes: Iterable[RecordedWrite], covered: tuple[float, float] | None
) -> Timeline:
    """The timeline of dumps and the writes of a log that holds all writes between two moments."""
    ordered = tuple(sorted(dumps, key=lambda dump: dump.time))
    given = list(writes)
    unique = {write.identity or place: write for place, write in enumerate(given)}
    logged = sorted(unique.values(), key=lambda write: write.time)
    if covered is not None:
        covered = _extended(covered, ordered)
    keys = dict.fromkeys(key for dump in ordered for key in dump.objects)
    keys |= dict.fromkeys(write.key for write in logged if write.key.name)
    unnamed = {write.key for write in logged if write.unnamed}
    by_key: dict[Key, list[Point]] = {key: _of_dumps(key, ordered, unnamed=key in unnamed) for key in keys}
    for write in logged:
        for key in [write.key] if write.key.name else _of_collection(write, keys):
            by_key[key].append(_of_write(write))
    if covered is not None:
        for dump in ordered:
            for key, obj in dump.objects.items():
                by_key[key].extend(_creation(obj, dump.time, covered, by_key[key]))
    points = {key: _completed(points, covered) for key, points in by_key.items()}
    return Timeline(points, ordered, covered, len(given) - len(unique))


def _extended(covered: tuple[float, float], dumps: Sequence[DumpedMoment]) -> tuple[float, float]:
    """The span of the log, up to dumps that were made shortly before or after it."""
    start, end = covered
    for dump in dumps:
        if start - NEAR <= dump.time <= end + NEAR:
            start, end = min(start, dump.time), max(end, dump.time)
    return start, end


def _of_dumps(key: Key, dumps: Iterable[DumpedMoment], *, unnamed: bool) -> list[Point]:
    """What dumps tell of an object; an unnamed one has another name in them."""
    found = []
    for dump in dumps:
        if key.resource in dump.captured:
            state = dump.objects.get(key)
            found.append(Point(dump.time, state, state, knows_before=not unnamed))
    return found


def _of_collection(write: RecordedWrite, keys: Iterable[Key]) -> list[Key]:
    """The objects that a deletion of many may have deleted."""
    where = write.key
    return [key for key in keys if key.resource == where.resource and key.namespace == where.namespace]


def _creation(obj: Object, dumped: float, covered: tuple[float, float], points: Iterable[Point]) -> Iterator[Point]:
    """The creation of a dumped object that the log does not name, as where its name was generated."""
    time = seconds_of(metadata(obj).get("creationTimestamp"))
    if time is None or not covered[0] < time < dumped or dumped > covered[1]:
        return
    logged = (point.time for point in points if point.write is not None and point.write.created)
    if not any(abs(moment - time) <= _ROUNDED for moment in logged):
        yield Point(time, None, UNKNOWN)


def _of_write(write: RecordedWrite) -> Point:
    if write.created:
        return Point(write.time, None, write.after, write)
    return Point(write.time, UNKNOWN, write.after, write, knows_before=False)


def _completed(points: list[Point], covered: tuple[float, float] | None) -> tuple[Point, ...]:
    """The points in order, with patches and deletions applied to what was known before them."""
    ordered = sorted(points, key=lambda point: (point.time, point.write is None))
    found: list[Point] = []
    for point in ordered:
        write = point.write
        if write is not None and write.after is UNKNOWN and found and _holds(covered, found[-1].time, point.time):
            before = found[-1].after
            if write.patch is not None:
                point = replace(point, after=patched(before, write.patch))
            elif write.verb == "delete":
                point = replace(point, after=deleted(before))
        found.append(point)
    return tuple(found)


def _holds(covered: tuple[float, float] | None, start: float, end: float) -> bool:
    """True if every write between two moments would be in a log that covers this time."""
    return start == end or (covered is not None and covered[0] <= start and end <= covered[1])
