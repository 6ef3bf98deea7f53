"""Values derived from objects of a store, and recomputed when these change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from simkit.meta.names import GroupResource, Revision
from simkit.seams import Change, ListWatcher

Made = TypeVar("Made")


class DerivedValue(Generic[Made]):
    """A value derived from some resources, cached until one of them changes.

    Reading takes no lock: what is made is put in place as a whole.

    Parameters
    ----------
    store
        It is listened to for as long as it lives.
    resources
        Whose changes make it out of date.
    make
        Reads the store.
    known
        The value as of now, where it is known, as in a fork of a store whose value was made.

    Examples
    --------
    >>> from simkit.engine.storage.memory import MemoryStore
    >>> from simkit.meta.clock import SystemClock
    >>> from simkit.meta.names import GroupResource, Key
    >>> store, pods = MemoryStore(SystemClock()), GroupResource("", "pods")
    >>> count = DerivedValue(store, [pods], lambda: store.count(pods))
    >>> _ = count.now(), store.put(Key(pods, "default", "one"), {"metadata": {}}, expect=None)
    >>> count.now()
    1
    """

    def __init__(
        self,
        store: ListWatcher,
        resources: Sequence[GroupResource],
        make: Callable[[], Made],
        known: Made | None = None,
    ) -> None:
        self._store, self._resources, self._make = store, frozenset(resources), make
        self._changes = 0
        self._made: tuple[int, Made] | None = None if known is None else (0, known)
        store.listen(self._follow, self._resources)

    def _follow(self, changes: Sequence[Change]) -> None:
        self._changes += 1

    def now(self) -> Made:
        """The value for the current resources."""
        made, changes = self._made, self._changes
        if made is None or made[0] != changes:  # what is made while somebody writes is made again next time
            self._made = made = changes, self._make()
        return made[1]

    def at(self, revision: Revision) -> Made | None:
        """The value, if the store is still at this revision; used by a new fork."""
        made = self.now()
        return made if self._store.revision == revision else None
