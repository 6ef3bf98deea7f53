"""Controllers with a work queue of keys: changes enqueue objects, and each is reconciled by its key."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from simkit.client.controller import Client
from simkit.client.lister import Lister
from simkit.client.work_queue import WorkQueue
from simkit.meta.clock import Clock
from simkit.meta.foreign import passes
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    from simkit.seams import Change

_EVERYTHING: Final = Key(GroupResource("", ""), "", "")
"""The key that stands for all keys together."""
_LOG: Final = logging.getLogger("simkit.controllers")
Warn = Callable[[Client, Object, str], None]
"""Records a warning Event about an object."""


@runtime_checkable
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

    An error concerns its key only: it is logged, recorded as an Event about the object, and the key is tried again
    with back-off, while the other keys are reconciled. If the keys themselves cannot be found, all are tried later.

    Parameters
    ----------
    warn
        Records a warning Event about an object.
    """

    def __init__(self, reconciler: Reconciler, clock: Clock, warn: Warn | None = None) -> None:
        self.reconciler, self._warn = reconciler, warn
        self.name, self.account = reconciler.name, reconciler.account
        self.queue = WorkQueue[Key](reconciler.name, clock)

    @property
    def next_time(self) -> float | None:
        return self.queue.next_time

    def concerns(self, change: Change) -> bool:
        try:
            return self.reconciler.concerns(change)
        except BaseException as error:
            self._look_at_everything_later(error, f"a change of {change.entry.key}")
            return False

    def reset_backoff(self) -> None:
        self.queue.retry_now()

    def resume_from(self, other: Any) -> None:
        self.reconciler.resume_from(other.reconciler)
        self.queue.copy_from(other.queue)

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        lister, keys = Lister(snapshot), self.queue.due()
        if changes is None or _EVERYTHING in keys:
            keys |= self._every_key(lister)
        for change in changes or ():
            keys |= self._keys_affected(change, lister)
        self.queue.process(
            keys - {_EVERYTHING},
            lambda key: self.reconciler.reconcile(client, lister, key),
            lambda key, error: self._tell(client, lister, key, error),
        )

    def _every_key(self, lister: Lister) -> set[Key]:
        try:
            found = _named(self.reconciler.all_keys(lister))
        except BaseException as error:
            self._look_at_everything_later(error, "its objects cannot be found")
            return set()
        self.queue.add(found)
        self.queue.forget(_EVERYTHING)
        return found

    def _keys_affected(self, change: Change, lister: Lister) -> set[Key]:
        try:
            return _named(self.reconciler.keys_affected(change, lister))
        except BaseException as error:
            self._look_at_everything_later(error, f"a change of {change.entry.key}")
            return set()

    def _look_at_everything_later(self, error: BaseException, what: str) -> None:
        """Tell of an error that concerns no single key; raises an interrupt."""
        if passes(error):
            raise error
        _LOG.error("%s: %s", self.name, what, exc_info=error)
        self.queue.add_rate_limited(_EVERYTHING)

    def _tell(self, client: Client, lister: Lister, key: Key, error: BaseException) -> None:
        obj = lister.get(key)
        if obj is None or self._warn is None:
            return
        try:
            self._warn(client, obj, f"{self.name} cannot reconcile it: {type(error).__name__}")
        except Exception:  # the object's fault may be in what an Event says of it
            _LOG.exception("%s: no Event about %s", self.name, key)


def _named(keys: Iterable[Key]) -> set[Key]:
    """The keys whose names are texts: others come from references that a dump holds in a wrong type."""
    if not keys:
        return set()
    return {key for key in keys if isinstance(key.name, str) and isinstance(key.namespace, str)}
