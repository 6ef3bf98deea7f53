"""Controllers with a work queue of keys: changes enqueue objects, and each is reconciled by its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister
from simkit.engine.seams import Change
from simkit.meta.clock import Clock
from simkit.meta.names import GroupResource, Key
from simkit.snapshot.protocol import Snapshot

_FIRST_RETRY: Final = 0.5
_LONGEST_RETRY: Final = 60.0


class RequeueError(Exception):
    """An object could not be reconciled now; it is enqueued again with back-off."""


class Reconciler(Protocol):
    """The part of a controller that is its own: which objects a change concerns, and how one is reconciled."""

    @property
    def name(self) -> str:
        """The name that ``--controllers`` uses."""
        ...

    @property
    def account(self) -> str:
        """Who it acts as, see ``Controller``."""
        ...

    @property
    def watches(self) -> frozenset[GroupResource]:
        """The resources that it must know all objects of."""
        ...

    def concerns(self, change: Change) -> bool:
        """Whether a change may concern it. Asked of every change, so it must be quick."""
        ...

    def resume_from(self, other: Any) -> None:
        """Know what another one of the same kind knows in the store that this one's forks."""
        ...

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        """The objects to look at because of a change; they need not exist."""
        ...

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        """All objects that it looks after."""
        ...

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        """Bring one object in order; gives back when to look again although nothing changed, or None.

        Raises RequeueError for what could not be done.
        """
        ...


class ReconcilingController:
    """A work queue of keys in front of a reconciler. Keys are taken in order, each once."""

    def __init__(self, reconciler: Reconciler, clock: Clock) -> None:
        self.reconciler, self._clock = reconciler, clock
        self.name, self.account = reconciler.name, reconciler.account
        self._times: dict[Key, float] = {}
        self._failures: dict[Key, int] = {}

    @property
    def next_time(self) -> float | None:
        return min(self._times.values(), default=None)

    def concerns(self, change: Change) -> bool:
        return self.reconciler.concerns(change)

    def reset_backoff(self) -> None:
        for key in self._failures:
            self._times[key] = 0.0
        self._failures.clear()

    def resume_from(self, other: Any) -> None:
        self.reconciler.resume_from(other.reconciler)
        self._times, self._failures = dict(other._times), dict(other._failures)

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        lister, now = Lister(snapshot), self._clock.now()
        keys = {key for key, when in self._times.items() if when <= now}
        if changes is None:
            keys.update(self.reconciler.all_keys(lister))
        for change in changes or ():
            keys.update(self.reconciler.keys_affected(change, lister))
        for key in sorted(keys):
            self._times.pop(key, None)
            self._one(client, lister, key)

    def _one(self, client: Client, lister: Lister, key: Key) -> None:
        try:
            again = self.reconciler.reconcile(client, lister, key)
        except RequeueError:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            self._times[key] = self._clock.now() + min(_FIRST_RETRY * 2.0**failures, _LONGEST_RETRY)
            return
        self._failures.pop(key, None)
        if again is not None:
            self._times[key] = again
