"""Listeners of a store, and which of them a change concerns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from simkit.engine.seams import Change
from simkit.meta.names import GroupResource

Listener = Callable[[Sequence[Change]], None]


class _Wish(NamedTuple):
    """A listener with the resources whose changes it wants to hear of; None for those of all."""

    listener: Listener
    resources: frozenset[GroupResource] | None


class Listeners:
    """The listeners of one store. Those of each resource are found once, until somebody comes or goes.

    Notes
    -----
    Stopping takes no lock: a finalizer may do it, in any thread and at any point, also within a write.
    """

    def __init__(self) -> None:
        self._wishes: dict[object, _Wish] = {}
        self._by_resource: dict[GroupResource, tuple[Listener, ...]] = {}

    def add(self, listener: Listener, resources: Collection[GroupResource] | None) -> Callable[[], None]:
        """Add a listener behind the others; gives back how to stop it."""
        token = object()
        self._wishes[token] = _Wish(listener, None if resources is None else frozenset(resources))
        self._by_resource = {}

        def stop() -> None:
            self._wishes.pop(token, None)
            self._by_resource = {}

        return stop

    def concerned_by(self, changes: Sequence[Change]) -> Sequence[Listener]:
        """Those who want to hear of at least one of the changes, in the order in which they came."""
        if len(changes) != 1:
            return self._who_want({change.entry.key.resource for change in changes})
        resource, known = changes[0].entry.key.resource, self._by_resource
        found = known.get(resource)
        if found is None:
            found = known[resource] = tuple(self._who_want({resource}))
        return found

    def _who_want(self, changed: Collection[GroupResource]) -> Sequence[Listener]:
        wishes = list(self._wishes.values())
        return [wish.listener for wish in wishes if wish.resources is None or not wish.resources.isdisjoint(changed)]
