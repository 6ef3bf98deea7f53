"""The objects that an index still has to read, by the change log of a store."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from simkit.engine.seams import Change, ListWatcher
from simkit.meta.names import GroupResource, Key


class ChangedKeys:
    """The keys of objects of some resources that have changed since they were last taken.

    Parameters
    ----------
    store
        It tells of every change, in the thread that makes it.
    resources
        Those that are followed.
    """

    def __init__(self, store: ListWatcher, resources: Iterable[GroupResource]) -> None:
        self.count = 0
        """The changes that were told; a view that has taken in so many is up to date."""
        self._store, self._resources = store, tuple(resources)
        self._waiting = deque[Key]()
        store.listen(self._follow, self._resources)

    def add_stored(self) -> None:
        """Count all objects that are stored now as changed."""
        keys = [entry.key for resource in self._resources for entry in self._store.scan(resource)]
        self._waiting.extend(keys)
        self.count += len(keys)

    def take(self) -> tuple[set[Key], int]:
        """The keys, which count as read from now on, and a number of changes that they cover at least."""
        count, found = self.count, set[Key]()
        while self._waiting:
            found.add(self._waiting.popleft())
        return found, count

    def _follow(self, changes: Sequence[Change]) -> None:
        self._waiting.extend(change.entry.key for change in changes)
        self.count += len(changes)
