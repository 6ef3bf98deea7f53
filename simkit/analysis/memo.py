"""Values that are computed once per snapshot and released with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from simkit.seams.snapshot import Snapshot

V = TypeVar("V")


class SnapshotMemo(Generic[V]):
    """One value per snapshot. A snapshot does not change, so derived values stay valid.

    Snapshots are told apart by identity or by what their class calls equal; one that cannot be referred to weakly is
    not remembered.
    """

    def __init__(self) -> None:
        self._values: WeakKeyDictionary[Snapshot, V] = WeakKeyDictionary()

    def of(self, snapshot: Snapshot, make: Callable[[Snapshot], V]) -> V:
        """The value of a snapshot, computed if it is not there yet."""
        try:
            known = self._values.get(snapshot)
        except TypeError:
            return make(snapshot)
        if known is None:
            known = self._values[snapshot] = make(snapshot)
        return known

    def known(self, snapshot: Snapshot | None) -> V | None:
        """The value of a snapshot if it was computed before."""
        if snapshot is None:
            return None
        try:
            return self._values.get(snapshot)
        except TypeError:
            return None
