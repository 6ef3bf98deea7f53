"""Keeps a store in memory at the state of etcd: it lists everything once, then follows a watch.

Upstream: k8s.io/apiserver/pkg/storage/cacher (the reflector of the watch cache), release 1.30.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final

import grpc

from simkit.engine.storage.memory import MemoryStore, stamped
from simkit.engine.storage.sqlite import LazyEntry
from simkit.engine.storage.state import State, tables_of
from simkit.meta.errors import StatusError, unexplained
from simkit.meta.names import Key, Revision
from simkit.meta.objects import Object
from simkit.meta.pausing import Waitable, pausable_step
from simkit.meta.python_gc import collection_paused
from simkit.meta.unreadable import UnreadableObject
from simkit.seams import Change, Entry
from simkit.snapshot.etcd import rpc
from simkit.snapshot.etcd.client import EtcdClient, WatchStream, told
from simkit.snapshot.etcd.layout import Layout
from simkit.snapshot.etcd.values import Values

# Threads that wait for a revision: each is woken once, when its revision has come


class RevisionWaiters:
    """The waiters of each revision.

    Notes
    -----
    One condition for all would wake every thread at every revision, which costs more the more threads write.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reached = 0
        self._waiting: list[tuple[int, int, Waitable]] = []
        self._numbers = count()

    @property
    def reached(self) -> int:
        """The revision that has come last."""
        return self._reached

    @property
    def waiting(self) -> int:
        """The number of threads that wait."""
        return len(self._waiting)

    def reach(self, revision: int) -> None:
        """Wake all who wait for a revision up to this one."""
        with self._lock:
            self._reached = revision
            while self._waiting and self._waiting[0][0] <= revision:
                heappop(self._waiting)[2].set()

    def wait(self, revision: int, seconds: float) -> bool:
        """Wait until a revision has come, at most some seconds; True if it has."""
        step = pausable_step()
        come: Waitable = threading.Event() if step is None else step.event()
        with self._lock:
            if self._reached >= revision:
                return True
            heappush(self._waiting, (revision, next(self._numbers), come))
        if not come.wait(seconds):
            with self._lock:
                self._waiting = sorted(each for each in self._waiting if each[2] is not come)
        return self._reached >= revision

    def wake_all(self) -> None:
        """Wake everybody, since no revision will come any more."""
        with self._lock:
            for _, _, come in self._waiting:
                come.set()
            self._waiting.clear()


# Entries out of etcd: what a key and its value hold, and the last state of a removed object

ReadEntry = Callable[[Any], Entry | None]
"""Makes an entry of a key and its value in etcd; None where it is no object."""


Written = tuple[bytes, Object]
"""A value as it is written to etcd, and its object."""


def reader(layout: Layout, values: Values, writing: Mapping[bytes, Written]) -> ReadEntry:
    """Makes entries of keys and values in etcd, in a layout.

    Parameters
    ----------
    writing
        What is being written by this server, by path: it need not be decoded when it comes back.
    """

    def decode(key: Key, raw: bytes, revision: Revision) -> Object:
        return values.decode(key, layout.path(key), raw, revision)

    def read(pair: Any) -> Entry | None:
        key = layout.key(pair.key)
        if key is None:
            return None
        revision, raw = Revision(pair.mod_revision), pair.value
        own = writing.get(pair.key)
        if own is not None and own[0] == raw:
            return Entry(key, revision, stamped(own[1], revision), len(raw))
        return LazyEntry(key, revision, raw, decode)

    return read


def removed(entry: Entry, revision: Revision) -> Entry:
    """The last state of an object under the revision of its removal."""
    if isinstance(entry, LazyEntry):
        return entry.moved(revision)
    return Entry(entry.key, revision, stamped(entry.object, revision), entry.size)


def readable(entry: Entry) -> Entry:
    """The entry itself, or in the place of one that cannot be read one with its name alone."""
    if is_readable(entry):
        return entry
    meta = {"name": entry.key.name, "namespace": entry.key.namespace, "resourceVersion": str(entry.revision)}
    return Entry(entry.key, entry.revision, {"metadata": {name: value for name, value in meta.items() if value}})


def is_readable(entry: Entry) -> bool:
    """True if the object of an entry can be read."""
    try:
        entry.object  # noqa: B018 - it is decoded here
    except UnreadableObject:
        return False
    return True


_LOG: Final = logging.getLogger("simkit.storage.etcd")
QUIET_SECONDS: Final = 0.05
"""Seconds that a reader waits for a change to come by itself before it makes one."""
_BARRIER: Final = b"barriers/simkit"
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0


class Follower:
    """A thread that brings a store in memory to the state of etcd and keeps it there.

    Parameters
    ----------
    seen
        The store. Nobody else may write to it.
    prefix
        What is followed.
    entry_of
        Makes the entries.
    """

    def __init__(self, client: EtcdClient, seen: MemoryStore, prefix: bytes, entry_of: ReadEntry) -> None:
        self._client, self._seen, self._prefix, self._entry_of = client, seen, prefix, entry_of
        self._waiters = RevisionWaiters()
        """They wait for a revision that the store has seen, and its listeners have heard of."""
        self._stopped = threading.Event()
        self._stream: WatchStream | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def own_thread(self) -> bool:
        """True if the caller runs in the thread that follows, as a listener does."""
        return threading.current_thread() is self._thread

    def begin(self) -> None:
        """Bring the store to the present state at once. Raises the StatusError of an etcd that does not answer."""
        self._seen.restart(self._listed())
        self._waiters.reach(self._seen.revision)

    def start(self) -> None:
        """Follow what has changed since the state of the store."""
        self._thread = threading.Thread(target=self._run, name="etcd-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Follow no more; what was seen stays."""
        self._stopped.set()
        if self._stream is not None:
            self._stream.end()
        self._waiters.wake_all()
        if self._thread is not None and not self.own_thread:
            self._thread.join(timeout=5)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Follow nothing meanwhile, and list everything anew afterwards, of which listeners are not told."""
        self.stop()
        yield
        self._stopped.clear()
        self.begin()
        self.start()

    def wait_for(self, revision: int, seconds: float, *, followed: bool) -> None:
        """Wait until the store has seen a revision, and its listeners have heard of it.

        ``followed`` says that something under the prefix has changed at this revision, so that its change will come.
        Raises a 500 StatusError where that takes too long, and whatever a listener raised meanwhile.

        Notes
        -----
        A revision under which nothing of the prefix changed comes with no answer of the watch. A write of a key that is
        no object brings one. (Answers that tell progress would do, but etcd before 3.4.25 and 3.5.8 gives them too
        early: https://github.com/etcd-io/etcd/issues/15220.)
        """
        if self._waiters.reached >= revision and self._error is None:
            return
        end, marked = time.monotonic() + seconds, followed
        while self._waiters.reached < revision:
            left = end - time.monotonic()
            if left <= 0 or self._stopped.is_set():
                seen = self._waiters.reached
                raise unexplained(f"etcd is at revision {revision}, and this server has seen {seen}")
            heard = self._waiters.wait(revision, left if marked else min(left, QUIET_SECONDS))
            if not heard and not marked:
                marked = True
                self._client.put(self._prefix + _BARRIER, b"")
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _listed(self) -> State:
        entries: list[Entry] = []
        revision = 1
        with collection_paused():
            for page in self._client.pages(self._prefix):
                revision = page.header.revision
                entries += [entry for pair in page.kvs if (entry := self._entry_of(pair)) is not None]
        return State(Revision(revision), tables_of(entries))

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopped.is_set():
            try:
                self._stream = stream = self._client.watch(self._prefix, self._seen.revision)
                if self._stopped.is_set():  # asked to stop before there was a stream to end
                    stream.end()
                for answer in stream:
                    if answer.canceled:
                        self._cancelled(answer)
                        break
                    self._take(answer)
                    pause = _FIRST_PAUSE
            except (grpc.RpcError, StatusError) as error:
                if self._stopped.is_set():
                    return
                _LOG.warning("the watch of etcd ended: %s", told(error) if isinstance(error, grpc.RpcError) else error)
                self._client.turn()
            self._stopped.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _take(self, answer: Any) -> None:
        """Take over the changes of an answer."""
        if answer.events:
            self._follow(self._changes(answer.events), Revision(answer.events[-1].kv.mod_revision))

    def _follow(self, changes: Sequence[Change], reached: Revision) -> None:
        try:
            self._seen.follow(changes, reached)
        except Exception as error:  # of a listener: whoever waits for this revision gets it, the watch goes on
            _LOG.exception("a listener failed at revision %s", reached)
            self._error = error
        self._waiters.reach(self._seen.revision)

    def _changes(self, events: Sequence[Any]) -> list[Change]:
        changes: list[Change] = []
        pending: dict[Key, Entry | None] = {}
        for event in events:
            entry = self._entry_of(event.kv)
            if entry is None:
                continue
            key, gone = entry.key, event.type == rpc.DELETED
            previous = pending[key] if key in pending else self._seen.get(key)
            pending[key] = None if gone else entry
            if not gone:
                changes.append(Change("ADDED" if previous is None else "MODIFIED", entry, previous))
            elif previous is not None:
                last = readable(previous)
                changes.append(Change("DELETED", removed(last, entry.revision), last))
        return changes

    def _cancelled(self, answer: Any) -> None:
        """Go on after etcd has ended the watch: where it has forgotten what came since, everything is listed anew."""
        if not answer.compact_revision:
            raise unexplained(answer.cancel_reason or "etcd ended the watch")
        _LOG.warning("etcd has forgotten the changes since revision %s: listing everything anew", self._seen.revision)
        state = self._listed()
        self._follow(self._between(state), state.revision)
        self._seen.compact(through=state.revision)

    def _between(self, state: State) -> list[Change]:
        """The changes that lead from what was seen to another state, in the order of their revisions."""
        changes: list[Change] = []
        for resource in {*self._seen.resources(), *state.resources()}:
            old, new = _by_key(self._seen.scan(resource)), _by_key(state.scan(resource, None))
            for key, entry in new.items():
                before = old.get(key)
                if before is None or before.revision != entry.revision:
                    changes.append(Change("ADDED" if before is None else "MODIFIED", entry, before))
            gone = (entry for key, entry in old.items() if key not in new)
            changes += [Change("DELETED", removed(entry, state.revision), entry) for entry in gone]
        return sorted(changes, key=lambda change: change.revision)


def _by_key(entries: Sequence[Entry]) -> Mapping[Key, Entry]:
    return {entry.key: entry for entry in entries}
