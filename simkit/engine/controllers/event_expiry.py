"""Deletes Events an hour after they were last written, as the lease in etcd does under kube-apiserver (--event-ttl)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from simkit.engine.controllers.controller_manager import Client
from simkit.engine.seams import Change
from simkit.meta.clock import Clock
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import name_of, namespace_of
from simkit.snapshot.protocol import Snapshot

EVENTS: Final = GroupResource("", "events")


class EventExpiry:
    """Deletes Events ``seconds`` after their last write, in the store: no request is made or authorized.

    Parameters
    ----------
    expire
        Takes an object out of the store.
    present
        Whether the events that are there at the start count, from then on; without it only later ones go.
    """

    name = "event-expiry"
    account = "event-expiry"

    def __init__(self, expire: Callable[[Key], None], clock: Clock, seconds: float, *, present: bool) -> None:
        self._expire, self._clock, self._seconds, self._present = expire, clock, seconds, present
        self._due: dict[Key, float] = {}
        """The expiration time of each event, the next one first."""

    @property
    def next_time(self) -> float | None:
        """The time of the next expiration."""
        return next(iter(self._due.values()), None)

    def concerns(self, change: Change) -> bool:
        """An event that was written or deleted."""
        return change.entry.key.resource == EVENTS

    def reset_backoff(self) -> None:
        """There are none."""

    def resume_from(self, other: EventExpiry) -> None:
        """Know what the one knows whose store this one's is a fork of."""
        self._due = dict(other._due)

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        """Note what was written, and let go of what is due."""
        now = self._clock.now()
        if changes is None:
            self._start(snapshot, now)
        for change in changes or ():
            self._due.pop(change.entry.key, None)
            if change.type != "DELETED":
                self._due[change.entry.key] = now + self._seconds
        while self._due:
            key, when = next(iter(self._due.items()))
            if when > now:
                return
            del self._due[key]
            self._expire(key)

    def _start(self, snapshot: Snapshot, now: float) -> None:
        if self._present:
            keys = (Key(EVENTS, namespace_of(each), name_of(each)) for each in snapshot.scan(EVENTS))
            self._due = dict.fromkeys(keys, now + self._seconds) | self._due
