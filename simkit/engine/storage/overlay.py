"""A fork of any store: its own changes over a base that stands still."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from simkit.engine.seams import Entry, Store
from simkit.engine.storage.layer import Cell, cell_of, covered, entry_of
from simkit.engine.storage.memory import HISTORY_SECONDS, MemoryStore
from simkit.engine.storage.state import View, order
from simkit.engine.storage.table import Table
from simkit.engine.storage.view import Pinned
from simkit.meta.clock import Clock
from simkit.meta.names import GroupResource, Key, Revision


def overlay(base: Store, clock: Clock, history_seconds: float = HISTORY_SECONDS) -> MemoryStore:
    """A store that begins with the present state of another one and goes its own way, whatever the base does then.

    Notes
    -----
    Constant time. Revisions continue behind the base's; history begins at the fork. A fork of the overlay shares
    its base and its changes, so reading costs the same at every depth.

    Examples
    --------
    >>> from simkit.meta.clock import SimulatedClock
    >>> base = MemoryStore(SimulatedClock())
    >>> key = Key(GroupResource("", "configmaps"), "default", "a")
    >>> _ = base.put(key, {}, expect=None)
    >>> trial = overlay(base, SimulatedClock())
    >>> _ = trial.delete(key, expect=None)
    >>> base.get(key), trial.get(key)
    (<Entry configmaps default/a at 2>, None)
    """
    view = Pinned(base)
    return MemoryStore(clock, history_seconds, state=Layered(view.revision, view, {}, {}))


class Layered:
    """A state that holds what differs from a view below it, and how many objects more or less that makes."""

    __slots__ = ("_below", "_layer", "_more", "revision")

    def __init__(
        self,
        revision: Revision,
        below: View,
        layer: Mapping[GroupResource, Table[Cell]],
        more: Mapping[GroupResource, int],
    ) -> None:
        self.revision, self._below, self._layer, self._more = revision, below, layer, more

    def get(self, key: Key) -> Entry | None:
        table = self._layer.get(key.resource)
        cell = table.get(order(key)) if table is not None else None
        return self._below.get(key) if cell is None else entry_of(cell)

    def scan(
        self, resource: GroupResource, namespace: str | None, *, after: Key | None = None, limit: int | None = None
    ) -> Sequence[Entry]:
        def fetch(behind: Key | None, most: int | None) -> Sequence[Entry]:
            return self._below.scan(resource, namespace, after=behind, limit=most)

        return covered(fetch, lambda: self._layer.get(resource), namespace, after, limit)

    def count(self, resource: GroupResource) -> int:
        return self._below.count(resource) + self._more.get(resource, 0)

    def replaced(self, revision: Revision, key: Key, old: Entry | None, new: Entry | None) -> Layered:
        resource = key.resource
        table: Table[Cell] = self._layer.get(resource) or Table.of()
        layer = {**self._layer, resource: table.put(order(key), cell_of(new))}
        step = (new is not None) - (old is not None)
        more = {**self._more, resource: self._more.get(resource, 0) + step} if step else self._more
        return Layered(revision, self._below, layer, more)

    def seeded(self, revision: Revision, entries: Iterable[Entry]) -> Layered:
        state = Layered(revision, self._below, self._layer, self._more)
        for entry in entries:
            state = state.replaced(revision, entry.key, state.get(entry.key), entry)
        return state
