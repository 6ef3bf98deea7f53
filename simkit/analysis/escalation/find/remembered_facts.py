"""Facts that are worked out once, with notes of what they have read: so they can be kept after a change elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from simkit.analysis.escalation.find.states import SET, AttackState
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.names import GroupResource, Key

if TYPE_CHECKING:
    from simkit.analysis.escalation.find.facts import ClusterFacts

T = TypeVar("T")
COMPOSED: Final = ("once", "gathered", "answer")
"""The facts that are what functions make of other facts."""
ABOUT: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("pod", "pods", "pods_in", "pods_on"), ("pods",)),
    **dict.fromkeys(("secrets", "secrets_in", "may_have_secret", "token_holders"), ("secrets",)),
    "nodes": ("nodes", "pods"),
    "control_plane": ("nodes",),
}
"""The resources that some facts are about, and nothing else."""
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
        self._resources = {key.resource.resource for key in changed}
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
            elif composed is not None:  # other roles may lead to the same
                return self._now.gives_the_same(self._before, read)
            return kept
        about = [one.resource for one in arguments if isinstance(one, GroupResource)] or ABOUT.get(str(name), ())
        if about and self._resources.isdisjoint(about):
            return True
        before, now = (getattr(one, str(name)) for one in (self._before, self._now))
        return bool(before(*arguments) == now(*arguments) if arguments else before == now)


def _principals(indexes: Iterable[AccessIndex], changed: Collection[Key]) -> Iterator[tuple[str, str]]:
    """The subjects of changed bindings, and bindings of changed roles, before or after."""
    for index in indexes:
        for key in changed:
            binding = index.binding(key)
            for one in index.bindings_of(key) if binding is None else (binding,):
                yield from (subject.principal for subject in one.subjects)


Member = tuple[AttackState, dict[str, str]]


class RememberedFacts:
    """Remembers facts of a cluster, and what each has read.

    A later cluster keeps those for which nothing has changed that they read.
    """

    def __init__(self) -> None:
        self.reads = Reads()
        self.composed: dict[Read, tuple[Read, ...]] = {}
        """The facts that ``once`` and ``gathered`` worked out, with what they have read."""
        self._remembered: dict[Read, Any] = {}
        self._unchanged: UnchangedReads | None = None

    def follow(self, unchanged: UnchangedReads | None) -> None:
        """Keep what an earlier cluster worked out where nothing has changed that it read; None ends it."""
        self._unchanged = unchanged

    def keep(self, earlier: Self, read: Read) -> None:
        """Take over what ``once`` or ``gathered`` worked out in an earlier cluster."""
        self.composed[read] = earlier.composed[read]
        self._remembered[read] = earlier._remembered[read]

    def remembered(self, read: Read, make: Callable[[], T]) -> T:
        """The result of a function, computed once, and noted as read; what it reads itself is not noted."""
        self.reads.note(*read)
        if read not in self._remembered:
            with self.reads.noted():
                self._remembered[read] = make()
        known: T = self._remembered[read]
        return known

    def _composed(self, read: Read, make: Callable[[], T]) -> T:
        """As ``remembered``, but kept from an earlier cluster where nothing has changed that it read."""
        if self._unchanged is not None and read not in self._remembered:
            self._unchanged.same(read)  # keeps it if it is
        if read not in self._remembered:
            self._work_out(read, make)
        self.reads.note(*read)
        known: T = self._remembered[read]
        return known

    def _work_out(self, read: Read, make: Callable[[], Any]) -> None:
        with self.reads.noted() as reads:
            self._remembered[read] = make()
        self.composed[read] = tuple(reads)

    def once(self, make: Callable[[Self], Iterable[T]]) -> tuple[T, ...]:
        """The results of a function for these facts, computed once per cluster."""
        return self._composed(("once", make), lambda: tuple(make(self)))

    def answer(self, question: Callable[..., T], *arguments: Hashable) -> T:
        """The result of a function for these facts and some arguments."""
        return self._composed(("answer", question, *arguments), lambda: question(self, *arguments))

    def gives_the_same(self, earlier: Self, read: Read) -> bool:
        """True if ``once`` or ``answer`` gives the same as in an earlier cluster; it is worked out for that."""
        name, make, *arguments = read
        if not callable(make):
            return False
        if read not in self._remembered:
            self._work_out(read, lambda: tuple(make(self)) if name == "once" else make(self, *arguments))
        return bool(self._remembered[read] == earlier._remembered[read])

    def gathered(self, title: str, members: Callable[[], Iterable[Member]]) -> AttackState | None:
        """One state for a choice among several, shared by all that have the same choice; None if there is none.

        The title has to say all that the members depend on.
        """
        place = AttackState(SET, title)
        return place if self._composed(("gathered", place), lambda: tuple(members())) else None

    def members(self, place: AttackState) -> tuple[Member, ...]:
        """The members of a set: states, each with the variables that the choice sets."""
        return self._composed(("gathered", place), tuple)
