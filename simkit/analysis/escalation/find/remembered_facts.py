"""Facts that are worked out once, with what they have read: so they can be kept after a change elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, Self, TypeVar

from simkit.analysis.escalation.find.reads import Read, Reads, UnchangedReads
from simkit.analysis.escalation.find.states import SET, AttackState

Member = tuple[AttackState, dict[str, str]]
T = TypeVar("T")


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

    def each(self, fact: str) -> Iterator[Any]:
        """The items of a property that is a sequence; only those asked for count as read."""
        for place in count():
            self.reads.note("item", fact, place)
            found = self.item(fact, place)
            if found is None:
                return
            yield found

    def item(self, fact: str, place: int) -> Any:
        """The item of such a property at a place; None behind the last. The reading is not noted."""
        with self.reads.noted():
            some: Sequence[Any] = getattr(self, fact)
        return some[place] if place < len(some) else None

    def answer(self, question: Callable[..., T], *arguments: Hashable) -> T:
        """The result of a function for these facts and some arguments; what it reads counts as one read, so that only
        another result matters.
        """
        return self.remembered(("answer", question, *arguments), lambda: question(self, *arguments))

    def gives_the_same(self, earlier: Self, make: Callable[[Self], Iterable[Any]]) -> bool:
        """True if ``once`` gives the same for a function as in an earlier cluster; it is worked out for that."""
        read: Read = ("once", make)
        if read not in self._remembered:
            self._work_out(read, lambda: tuple(make(self)))
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
