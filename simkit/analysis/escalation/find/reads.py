"""Notes of the facts that a computation has read, so that its result can be kept while they stay the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.names import Key

if TYPE_CHECKING:
    from simkit.analysis.escalation.find.facts import ClusterFacts

T = TypeVar("T")
COMPOSED: Final = ("once", "gathered")
"""The facts that are what functions make of other facts."""
Read = tuple[Hashable, ...]
"""A member of ``ClusterFacts`` by name, with the arguments if it is a method."""


class Reads:
    """The notes of all computations that are under way, the innermost last."""

    def __init__(self) -> None:
        self._open: list[dict[Read, None]] = []

    def note(self, *read: Hashable) -> None:
        """Add a read to the notes of the innermost computation."""
        if self._open:
            self._open[-1][read] = None

    @contextmanager
    def noted(self) -> Iterator[dict[Read, None]]:
        """The notes of what is read within the block; computations around it do not see them."""
        found: dict[Read, None] = {}
        self._open.append(found)
        try:
            yield found
        finally:
            self._open.pop()


class RecordedFact(Generic[T]):
    """A property of ``ClusterFacts`` that is computed once, and whose reading is noted."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self._name = make, make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, facts: ClusterFacts, owner: object = None) -> T:
        return facts.remembered((self._name,), lambda: self._make(facts))


class UnchangedReads:
    """The facts that are the same in two clusters, of which the later one differs by some objects."""

    def __init__(self, before: ClusterFacts, now: ClusterFacts, changed: Collection[Key]) -> None:
        self._before, self._now = before, now
        self._roles = frozenset(changed)
        self._principals = frozenset(_principals((before.index, now.index), changed))
        self._known: dict[Read, bool] = {}

    def all(self, reads: Iterable[Read]) -> bool:
        """True if every read gives the same in both."""
        return all(map(self.same, reads))

    def same(self, read: Read) -> bool:
        """True if a read gives the same in both."""
        known = self._known.get(read)
        if known is None:
            known = self._known[read] = self._compared(read)
        return known

    def _compared(self, read: Read) -> bool:
        name, *arguments = read
        if name == "grants":
            return getattr(arguments[0], "principal", None) not in self._principals
        if name == "rules":
            return arguments[0] not in self._roles
        if name in COMPOSED:
            composed = self._before.composed.get(read)
            kept = composed is not None and self.all(composed)
            if kept:
                self._now.keep(self._before, read)  # for the cluster after this one
            elif name == "once" and composed is not None and callable(arguments[0]):  # other roles may lead to the same
                return self._now.gives_the_same(self._before, arguments[0])
            return kept
        before, now = (getattr(one, str(name)) for one in (self._before, self._now))
        return bool(before(*arguments) == now(*arguments) if arguments else before == now)


def _principals(indexes: Iterable[AccessIndex], changed: Collection[Key]) -> Iterator[tuple[str, str]]:
    """The subjects of changed bindings, and bindings of changed roles, before or after."""
    for index in indexes:
        for key in changed:
            if key.resource not in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
                for binding in index.bindings_of(key):
                    yield from (subject.principal for subject in binding.subjects)
        for binding in index.bindings():
            if binding.key in changed:
                yield from (subject.principal for subject in binding.subjects)
