"""Controllers with a work queue of keys: changes enqueue objects, and each is reconciled by its key."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister
from simkit.engine.seams import Change
from simkit.meta.clock import Clock
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from simkit.snapshot.protocol import Snapshot

_FIRST_RETRY: Final = 0.5
_LONGEST_RETRY: Final = 60.0
_MOST_DOUBLINGS: Final = 10
"""After so many failures the pause is the longest."""
_EVERYTHING: Final = Key(GroupResource("", ""), "", "")
"""The place in the queue of all keys together."""
_LOG: Final = logging.getLogger("simkit.controllers")
Warn = Callable[[Client, Object, str], None]
"""Records a warning Event about an object."""


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
        """The account that it acts as, see ``Controller``."""
        ...

    @property
    def watches(self) -> frozenset[GroupResource]:
        """The resources that it must know all objects of."""
        ...

    def concerns(self, change: Change) -> bool:
        """True if a change may concern it. Asked of every change, so it must be quick."""
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
    """A work queue of keys in front of a reconciler. Keys are taken in order, each once.

    An error concerns its key alone: it is logged, told as an Event about the object, and the key is tried again with
    back-off, while the other keys are reconciled. Where the keys themselves cannot be found, all are looked at later.

    Upstream: k8s.io/client-go/util/workqueue (rate limited queues) and apimachinery/pkg/util/runtime (HandleCrash),
    release 1.30.

    Parameters
    ----------
    warn
        Records a warning Event about an object.
    """

    def __init__(self, reconciler: Reconciler, clock: Clock, warn: Warn | None = None) -> None:
        self.reconciler, self._clock, self._warn = reconciler, clock, warn
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
        if changes is None or _EVERYTHING in keys:
            keys |= self._every_key(lister)
        for change in changes or ():
            keys |= self._keys_affected(change, lister)
        for key in sorted(keys - {_EVERYTHING}):
            self._times.pop(key, None)
            self._one(client, lister, key)

    def _every_key(self, lister: Lister) -> set[Key]:
        self._times.pop(_EVERYTHING, None)
        try:
            found = set(self.reconciler.all_keys(lister))
        except Exception:
            _LOG.exception("%s: its objects cannot be found", self.name)
            self._requeue(_EVERYTHING)
            return set()
        self._failures.pop(_EVERYTHING, None)
        return found

    def _keys_affected(self, change: Change, lister: Lister) -> set[Key]:
        try:
            return set(self.reconciler.keys_affected(change, lister))
        except Exception:
            _LOG.exception("%s: a change of %s", self.name, change.entry.key)
            self._requeue(_EVERYTHING)
            return set()

    def _one(self, client: Client, lister: Lister, key: Key) -> None:
        try:
            again = self.reconciler.reconcile(client, lister, key)
        except RequeueError:
            self._requeue(key)
            return
        except Exception as error:
            _LOG.exception("%s: %s", self.name, key)
            self._requeue(key)
            self._tell(client, lister, key, error)
            return
        self._failures.pop(key, None)
        if again is not None:
            self._times[key] = again

    def _requeue(self, key: Key) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self._times[key] = self._clock.now() + min(_FIRST_RETRY * 2.0 ** min(failures, _MOST_DOUBLINGS), _LONGEST_RETRY)

    def _tell(self, client: Client, lister: Lister, key: Key, error: Exception) -> None:
        obj = lister.get(key)
        if obj is None or self._warn is None:
            return
        try:
            self._warn(client, obj, f"{self.name} cannot reconcile it: {type(error).__name__}")
        except Exception:  # what is wrong with the object may be in what an Event says of it
            _LOG.exception("%s: no Event about %s", self.name, key)
