"""Fair queuing of requests from several flows."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Queue(Generic[T]):
    """One queue with its waiting items."""

    waiting: deque[tuple[float, int, T]] = field(default_factory=deque)
    """The virtual start time of each item, its seats, and the item."""
    seats: int = 0
    finish: float = 0.0
    """The virtual time at which all items so far are finished."""


class FairQueues(Generic[T]):
    """Shuffle-sharded queues, served by virtual start times.

    A flow is dealt a hand of some queues, always the same ones, and what it sends joins the shortest of them: a flow
    that sends too much fills its own hand, and hardly ever all of another's. Next is always what would start first if
    all queues were served at the same pace, whatever their length.

    Parameters
    ----------
    queues, hand, longest
        How many queues, how many of them for each flow, how many may wait in one.

    Notes
    -----
    Not safe for threads: the caller holds a lock. Costs O(queues) when something is taken out.

    References
    ----------
    KEP 1040; start-time fair queuing (Goyal, Vin, Cheng 1996).
    """

    def __init__(self, queues: int, hand: int, longest: int) -> None:
        self.shape = (queues, hand, longest)
        self._queues: dict[int, Queue[T]] = {}
        self._now = 0.0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def offer(self, flow: str, item: T, seats: int = 1) -> bool:
        """Enqueue an item of a flow, unless its queue is full; True if it waits."""
        _, _, longest = self.shape
        empty = Queue[T]()
        number = min(self.dealt(flow), key=lambda each: self._queues.get(each, empty).seats)
        queue = self._queues.setdefault(number, empty)
        if len(queue.waiting) >= longest:
            return False
        start = max(self._now, queue.finish)
        queue.waiting.append((start, seats, item))
        queue.finish = start + seats
        queue.seats += seats
        self._count += 1
        return True

    def dealt(self, flow: str) -> list[int]:
        """The hand of queues dealt to a flow.

        Examples
        --------
        >>> queues = FairQueues(queues=64, hand=8, longest=50)
        >>> queues.dealt("ann") == queues.dealt("ann"), len(set(queues.dealt("ann")))
        (True, 8)
        """
        queues, hand, _ = self.shape
        number, deck, cards = int.from_bytes(hashlib.sha256(flow.encode()).digest(), "big"), list(range(queues)), []
        for _ in range(min(hand, queues)):
            number, position = divmod(number, len(deck))
            cards.append(deck.pop(position))
        return cards

    def first(self) -> tuple[T, int] | None:
        """The next request and its seats; None if none waits."""
        number = self._next()
        if number is None:
            return None
        _, seats, item = self._queues[number].waiting[0]
        return item, seats

    def take(self) -> T:
        """Remove the next item. Raises LookupError if there is none."""
        number = self._next()
        if number is None:
            raise LookupError("nobody waits")
        queue = self._queues[number]
        start, seats, item = queue.waiting.popleft()
        self._now = start
        self._left(queue, seats)
        return item

    def discard(self, item: T) -> None:
        """Remove an item that no longer waits, if it is there."""
        for queue in self._queues.values():
            for entry in queue.waiting:
                if entry[2] is item:
                    queue.waiting.remove(entry)
                    self._left(queue, entry[1])
                    return

    def each(self) -> Iterator[tuple[int, Queue[T]]]:
        """All queues with their numbers, including empty ones."""
        for number in range(self.shape[0]):
            yield number, self._queues.get(number) or Queue()

    def _next(self) -> int | None:
        waiting = (number for number, queue in self._queues.items() if queue.waiting)
        return min(waiting, key=lambda each: self._queues[each].waiting[0][0], default=None)

    def _left(self, queue: Queue[T], seats: int) -> None:
        queue.seats -= seats
        self._count -= 1
        if not self._count:  # whoever comes now finds all queues alike
            self._queues.clear()
