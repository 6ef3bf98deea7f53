"""The protocols of a store: reader, writer and change log, with the entries and errors that they exchange."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from simkit.meta.clock import Clock
from simkit.meta.errors import not_found
from simkit.meta.frozen_init import quickly_made
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object

ABSENT: Final = Revision(-1)
"""The value of ``expect`` for a key that must not exist yet."""


Encodings = dict[str, bytes]


class Entry:
    """One stored object at one revision.

    ``object`` is in the storage version and carries its ``metadata.resourceVersion``. ``encodings`` keeps what was
    made of it for the wire, by served version, so that it is made once; whoever makes it puts it there. ``size`` is
    about how many bytes the object takes as JSON, 0 where nobody has counted them.
    """

    __slots__ = ("encodings", "key", "object", "revision", "size")

    def __init__(self, key: Key, revision: Revision, obj: Object, size: int = 0) -> None:
        self.key, self.revision, self.object, self.size = key, revision, obj, size
        self.encodings: Encodings = {}

    def __repr__(self) -> str:
        return f"<Entry {self.key} at {self.revision}>"


ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


@quickly_made
@dataclass(frozen=True, slots=True)
class Change:
    """One change of a store. For DELETED, ``entry`` is the last state under the revision of its removal."""

    type: ChangeType
    entry: Entry
    previous: Entry | None

    @property
    def revision(self) -> Revision:
        return self.entry.revision


class Stale(Exception):
    """A compare-and-set that failed; ``current`` is the stored entry, or None."""

    def __init__(self, key: Key, current: Entry | None) -> None:
        super().__init__(f"{key} is at {current.revision if current else 'no revision'}")
        self.current = current


class Unstorable(Exception):
    """An object that could not be encoded again, and so is not stored. The text is the reason."""


class Compacted(Exception):
    """A revision whose history has been compacted; ``oldest`` is the first available one."""

    def __init__(self, requested: Revision, oldest: Revision) -> None:
        super().__init__(f"revision {requested} is gone; the oldest is {oldest}")
        self.requested, self.oldest = requested, oldest


class Future(Exception):
    """A revision that the store has not reached yet."""

    def __init__(self, requested: Revision, current: Revision) -> None:
        super().__init__(f"revision {requested} has not come yet; the current one is {current}")
        self.requested, self.current = requested, current


class Reader(Protocol):
    """The objects of a store at one revision. Reads take no lock.

    An implementation must give out entries that never change. Two reads of one entry need not give one Python object.
    """

    @property
    def revision(self) -> Revision:
        """The revision of the latest change."""
        ...

    def get(self, key: Key, *, at: Revision | None = None) -> Entry | None:
        """The entry of a key, now or at a revision. Raises Compacted or Future for a revision out of reach."""
        ...

    def scan(
        self,
        resource: GroupResource,
        namespace: str | None = None,
        *,
        at: Revision | None = None,
        after: Key | None = None,
        limit: int | None = None,
    ) -> Sequence[Entry]:
        """Entries in key order, after a key if given. Raises as ``get`` does."""
        ...

    def count(self, resource: GroupResource) -> int:
        """The number of objects that a resource has now, in constant time."""
        ...


def existing(store: Reader, key: Key, told: GroupResource | None = None) -> Entry:
    """The entry of a key. Raises the 404 StatusError of kube-apiserver, which may name another resource."""
    entry = store.get(key)
    if entry is None:
        raise not_found(told or key.resource, key.name)
    return entry


class Writer(Protocol):
    """Compare-and-set writes. Revisions grow and are never reused; they need not be contiguous."""

    def put(self, key: Key, value: Object, *, expect: Revision | None) -> Entry:
        """Store an object under a new revision, which is written into its metadata.

        ``expect`` is the revision that must be stored now, ABSENT for none, None for whatever there is. Raises Stale,
        and Unstorable for what could not be written out again, with room for what surrounds it in answers.
        The caller gives the object away: it must not be changed afterwards.
        """
        ...

    def delete(self, key: Key, *, expect: Revision | None) -> Change:
        """Remove an object; the removal has a revision of its own. Raises Stale, also where nothing is stored."""
        ...


class ChangeLog(Protocol):
    """The history of a store: the one source of watches, informers and derived indexes.

    An implementation must call listeners after the change can be read, in order of revisions.
    """

    @property
    def revision(self) -> Revision:
        """The revision of the latest change."""
        ...

    @property
    def oldest(self) -> Revision:
        """The oldest revision whose state can still be read; changes after it can be replayed."""
        ...

    def changes(self, *, after: Revision) -> Iterator[Change]:
        """All changes after a revision, oldest first. Raises Compacted or Future."""
        ...

    def listen(
        self, listener: Callable[[Sequence[Change]], None], resources: Collection[GroupResource] | None = None
    ) -> Callable[[], None]:
        """Call a listener with later changes, in the writer's thread; returns how to stop. A listener must not write.

        Changes that are announced together come in one batch; a compaction is announced by an empty one. A listener
        of some resources hears of batches only in which one of these changed.
        """
        ...

    def compact(self, *, through: Revision) -> None:
        """Compact the states before a revision: ``oldest`` becomes it. Listeners get an empty batch."""
        ...


class ListWatcher(Reader, ChangeLog, Protocol):
    """Lists objects and then follows their changes, as an informer does."""


class NumberRanges(Protocol):
    """Ranges of numbers that several servers give out, each number to one of them.

    A range has a name, and a text such as ``10.96.0.0/16``; its numbers are counted from 0. Calls raise a 500
    StatusError if the other process does not answer.
    """

    def known(self, name: str) -> int:
        """The numbers that were taken when this server last looked, as bits."""
        ...

    def claim(self, name: str, text: str, number: int) -> bool:
        """Take a number. False if somebody has it."""
        ...

    def release(self, name: str, text: str, number: int) -> None:
        """Give a number back."""
        ...

    def repair(self, name: str, text: str, used: Callable[[], int]) -> None:
        """Make a range agree with the numbers that objects have, as bits."""
        ...

    def repair_regularly(self, repair: Callable[[], None]) -> None:
        """Call a function now and from time to time, until the store is closed."""
        ...


class Store(Reader, Writer, ChangeLog, Protocol):
    """A whole store: reader, writer and change log, with what only its owner does.

    Whoever only reads, writes or follows changes asks for that part alone.
    """

    @property
    def number_ranges(self) -> NumberRanges | None:
        """The ranges of numbers that this server shares with others; None if it has the store for itself."""
        ...

    @property
    def leaves_process(self) -> bool:
        """True if a call may wait for another process. Requests then run on worker threads."""
        ...

    def refresh(self) -> None:
        """Make sure that reads see all that was written before this call, also by other servers.

        Raises a 500 StatusError where that cannot be found out.
        """
        ...

    def seed(self, objects: Iterable[tuple[Key, Object]]) -> None:
        """Put objects into an empty store unchanged, with their resourceVersion if it is a number.

        The store's revision becomes at least the highest of them. No change is announced or kept. A store that does
        not choose its revisions itself, as etcd, gives new ones.
        """
        ...

    def unreadable(self, resource: GroupResource, namespace: str | None = None) -> Sequence[Key]:
        """The keys of the stored objects of a resource that cannot be read."""
        ...

    def close(self) -> None:
        """Release resources outside memory, such as a file. The store can be read and forked, but not written."""
        ...

    def fork(self, *, clock: Clock | None = None) -> Store:
        """An independent store with the current state, made in constant time.

        Its times are those of ``clock``, by default of this store's own.
        """
        ...


Intent = Callable[[Object | None], Object]
"""A function from the live object (None: there is none) to the wanted one, as in PUT, every patch and apply."""
