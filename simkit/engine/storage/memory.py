"""The default store: objects and history in memory."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

import orjson

from simkit.engine.storage.entries import PACKED, Listener, Listeners, PackedEntry, check_size
from simkit.engine.storage.revision_log import RevisionLog
from simkit.engine.storage.state import State
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError
from simkit.meta.go_json import ROOM_OF_STORED, nested
from simkit.meta.interrupts import interrupts_held
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object, metadata
from simkit.meta.unreadable import UnreadableObject
from simkit.seams import ABSENT, Change, Compacted, Entry, Future, NumberRanges, Stale, Unstorable

HISTORY_SECONDS: Final = 300.0
FIRST: Final = Revision(1)
"""The revision of an empty store."""

_NUMBER: Final = re.compile(r"[0-9]{1,18}")


class Journal(Protocol):
    """A journal that persists changes before they become visible."""

    def __call__(self, changes: Sequence[Change]) -> None:
        """Persist the changes, all or none; raise if that fails."""
        ...

    def close(self) -> None:
        """Close the journal's file."""
        ...


class MemoryStore:
    """A store whose present is one immutable state and whose past is a log of changes.

    A write makes the next state, which shares nearly everything with the last one, and puts it in place by one
    assignment. So reads need no lock, and a fork is a second store that begins with the same state.

    Parameters
    ----------
    clock
        Tells when a state has become too old to be kept.
    history_seconds
        How long a state stays readable after it was superseded.
    state
        What the store begins with; empty, at revision 1, unless given.
    log
        How that state came about, as far as it is known; from nowhere, unless given.
    journal
        Called with every change before it can be seen; what it raises undoes the write. A fork has none.

    unreadable
        Keys under which something stands that cannot be read, and why: whoever asks for one of them gets 500.

    Notes
    -----
    ``get`` is O(log n), ``scan`` O(log n + answer), ``count`` and ``fork`` O(1). A write copies some hundred
    references. A state of the past is found in a few hundred steps, and the last few that were found are remembered.

    Examples
    --------
    >>> from simkit.meta.clock import SimulatedClock
    >>> store = MemoryStore(SimulatedClock())
    >>> key = Key(GroupResource("", "configmaps"), "default", "a")
    >>> store.put(key, {"data": {"x": "1"}}, expect=ABSENT).object["metadata"]
    {'resourceVersion': '2'}
    """

    leaves_process = False
    number_ranges: NumberRanges | None = None

    def __init__(
        self,
        clock: Clock,
        history_seconds: float = HISTORY_SECONDS,
        *,
        state: State | None = None,
        log: RevisionLog | None = None,
        journal: Journal | None = None,
        unreadable: Mapping[Key, str] | None = None,
    ) -> None:
        self._clock, self._history, self._journal = clock, history_seconds, journal
        self._state: State = state if state is not None else State(FIRST, {})
        self._log = log if log is not None else RevisionLog(self._state)
        self._unreadable = dict(unreadable or {})
        self._lock = threading.RLock()  # held by a writer until its listeners have heard; readers never take it
        self._listeners = Listeners()
        self._announcing = False

    def __repr__(self) -> str:
        return f"<MemoryStore at {self.revision}>"

    @property
    def revision(self) -> Revision:
        return self._state.revision

    @property
    def oldest(self) -> Revision:
        return min(self._log.oldest(self._clock.now() - self._history), self._state.revision)

    def refresh(self) -> None:
        """Do nothing: this server is the only writer, so reads see the latest state."""

    def get(self, key: Key, *, at: Revision | None = None) -> Entry | None:
        entry = (self._state if at is None else self._at(at)).get(key)
        if entry is None and self._unreadable:
            self._check_readable(key)
        return entry

    def _check_readable(self, key: Key) -> None:
        found = self._unreadable.get(key)
        if found is not None:
            raise UnreadableObject(key, found)

    def unreadable(self, resource: GroupResource, namespace: str | None = None) -> Sequence[Key]:
        return [key for key in self._unreadable if key.resource == resource and namespace in (None, key.namespace)]

    def scan(
        self,
        resource: GroupResource,
        namespace: str | None = None,
        *,
        at: Revision | None = None,
        after: Key | None = None,
        limit: int | None = None,
    ) -> Sequence[Entry]:
        return (self._state if at is None else self._at(at)).scan(resource, namespace, after=after, limit=limit)

    def count(self, resource: GroupResource) -> int:
        return self._state.count(resource)

    def resources(self) -> Collection[GroupResource]:
        """The resources of which objects are stored, or were."""
        return self._state.resources()

    def _at(self, revision: Revision) -> State:
        state = self._reachable(revision)
        return state if state.revision == revision else self._log.state_at(revision, state)

    def _reachable(self, revision: Revision) -> State:
        """The state at a revision that is still available."""
        state = self._state
        if revision > state.revision:
            raise Future(revision, state.revision)
        if revision < state.revision and revision < (oldest := self.oldest):
            raise Compacted(revision, oldest)
        return state

    def put(self, key: Key, value: Object, *, expect: Revision | None) -> Entry:
        with self._writing() as state:
            if self._unreadable:
                self._check_readable(key)
            old = state.get(key)
            if expect is not None and expect != (ABSENT if old is None else old.revision):
                raise Stale(key, old)
            revision = Revision(state.revision + 1)
            new = _entry(key, revision, stamped(value, revision))
            change = Change("ADDED" if old is None else "MODIFIED", new, old)
            self._commit(state, state.replaced(revision, key, old, new), change)
        return new

    def delete(self, key: Key, *, expect: Revision | None) -> Change:
        with self._writing() as state:
            old = state.get(key)
            if old is None or expect not in (None, old.revision):
                raise Stale(key, old)
            revision = Revision(state.revision + 1)
            gone = stamped(old.object, revision)
            last = _entry(key, revision, gone) if isinstance(old, PackedEntry) else Entry(key, revision, gone)
            change = Change("DELETED", last, old)
            self._commit(state, state.replaced(revision, key, old, None), change)
        return change

    @contextmanager
    def _writing(self) -> Iterator[State]:
        """The state that a write begins with. Nothing interrupts the write until all listeners have heard of it."""
        with interrupts_held, self._lock:
            if self._announcing:
                raise SimkitError("a listener of the store tried to write; do it after the write that it was told of")
            yield self._state

    def _commit(self, before: State, after: State, change: Change) -> None:
        """Make a state the current one. The log comes first: readers of the state must find its change there."""
        if self._journal is not None:
            self._journal((change,))
        now = self._clock.now()
        self._log.append(change, now, before, now - self._history)
        self._state = after
        self._tell((change,))

    def follow(self, changes: Sequence[Change], revision: Revision) -> None:
        """Take over changes that were made elsewhere, and the revision that is reached with them.

        Each must be later than all before it, or of the same revision. Listeners hear of all of them at once.
        """
        with self._writing() as state:
            now = self._clock.now()
            for change in changes:
                new = None if change.type == "DELETED" else change.entry
                after = state.replaced(change.revision, change.entry.key, change.previous, new)
                self._log.append(change, now, state, now - self._history)
                state = after
            self._state = state.labelled(max(revision, state.revision))
            if changes:
                self._tell(changes)

    def restart(self, state: State) -> None:
        """Begin anew with a state that came about elsewhere. Nothing is known of its past; listeners are not told."""
        with self._writing():
            self._log, self._state = RevisionLog(state), state

    def _tell(self, changes: Sequence[Change]) -> None:
        self._announcing = True
        try:
            for listener in self._listeners.concerned_by(changes):
                listener(changes)
        finally:
            self._announcing = False

    def seed(self, objects: Iterable[tuple[Key, Object]]) -> None:
        given = [(key, value, _revision_of(value)) for key, value in objects]
        with self._writing() as state:
            for resource in {key.resource for key, _, _ in given}:
                if state.count(resource):
                    raise SimkitError(f"the store holds {resource} already; only an empty store can be seeded")
            highest = max([state.revision, *(revision for _, _, revision in given if revision is not None)])
            entries = (
                Entry(key, highest, stamped(value, highest)) if revision is None else Entry(key, revision, value)
                for key, value, revision in given
            )
            kept = list(entries)
            for entry in kept:
                try:
                    entry.size = encodable_size(entry.object)
                except Unstorable as error:
                    raise SimkitError(f"{entry.key} cannot be loaded: {error}") from None
            if self._journal is not None:
                self._journal([Change("ADDED", entry, None) for entry in kept])
            seeded = state.seeded(highest, kept)
            self._log = RevisionLog(seeded)
            self._state = seeded

    def changes(self, *, after: Revision) -> Iterator[Change]:
        state = self._reachable(after)
        return self._log.between(after, state.revision)

    def listen(self, listener: Listener, resources: Collection[GroupResource] | None = None) -> Callable[[], None]:
        return self._listeners.add(listener, resources)

    def compact(self, *, through: Revision) -> None:
        """Compact the states before a revision; listeners get an empty batch, so that they can compact too."""
        with self._writing() as state:
            if through > state.revision:
                raise Future(through, state.revision)
            self._log.compact(through, state)
            self._tell(())

    def close(self) -> None:
        """Close the journal; the store can still be read and forked, but not written."""
        if self._journal is not None:
            self._journal.close()

    def fork(self, *, clock: Clock | None = None) -> MemoryStore:
        """An independent store with the current state, in constant time; its history starts empty."""
        with self._lock:  # the listeners have heard of all that is in the state
            return MemoryStore(clock or self._clock, self._history, state=self._state, unreadable=self._unreadable)


def _entry(key: Key, revision: Revision, obj: Object) -> Entry:
    """The entry of an object that can be encoded again. Raises Unstorable for others, and the 500 of one too large."""
    text = _encoded(obj)
    check_size(obj, len(text))
    if key.resource in PACKED:
        return PackedEntry(key, revision, text)
    return Entry(key, revision, obj, len(text))


def encodable_size(obj: Object) -> int:
    """The bytes of an object as JSON.

    Raises Unstorable for one that could not be encoded, since it would break every list and watch.
    """
    return len(_encoded(obj))


def _encoded(obj: Object) -> bytes:
    try:
        return orjson.dumps(nested(obj, ROOM_OF_STORED))[ROOM_OF_STORED:-ROOM_OF_STORED]
    except orjson.JSONEncodeError as error:
        deep = "Recursion" in str(error)
        raise Unstorable("exceeded max depth" if deep else f"the object cannot be encoded: {error}") from None


def stamped(obj: Object, revision: Revision) -> Object:
    """The object with a revision in its metadata."""
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "resourceVersion": str(revision)}}


def _revision_of(obj: Object) -> Revision | None:
    """The revision of an object; None if it is missing or no positive number."""
    text = metadata(obj).get("resourceVersion")
    number = int(text) if isinstance(text, str) and _NUMBER.fullmatch(text) else 0
    return Revision(number) if number else None
