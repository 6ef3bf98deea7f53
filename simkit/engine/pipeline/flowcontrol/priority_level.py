"""A priority level: its seats, and the requests that wait for them in fair queues."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import ceil
from threading import Event
from typing import Final, Generic, TypeVar

from simkit.engine.pipeline.flowcontrol.flow_schema import FlowSchema
from simkit.engine.pipeline.request_context import RequestContext, TicketOutcome
from simkit.meta.objects import Object, at, metadata

# Fair queuing of requests from several flows

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


# A priority level: its seats, and the requests that wait for them.
# Upstream: k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset/queueset.go, release 1.30.

LONGEST_WAIT: Final = 15.0
"""Seconds that a request waits for seats: a quarter of the request timeout."""
USUAL_SHARES: Final = 30
_USUAL_QUEUES: Final = (64, 8, 50)
_QUEUE_FIELDS: Final = ("queues", "handSize", "queueLengthLimit")


class Ticket:
    """A request that wants seats of a level. Its outcome is empty while it waits."""

    __slots__ = ("_callback", "_event", "_leave", "arrived", "context", "flow", "outcome", "seats", "started")

    def __init__(
        self,
        context: RequestContext,
        flow: Flow,
        seats: int,
        arrived: float,
        leave: Callable[[Ticket, TicketOutcome], None],
    ) -> None:
        self.context, self.flow, self.seats, self._leave = context, flow, seats, leave
        self.arrived = arrived
        """Seconds since the epoch."""
        self.started: float | None = None
        """The time at which it got its seats."""
        self.outcome: TicketOutcome = ""
        self._event: Event | None = None
        self._callback: Callable[[], None] | None = None

    def settle(self, outcome: TicketOutcome) -> None:
        """End the wait with an outcome; ``tell`` wakes the waiting threads."""
        self.outcome = outcome

    def tell(self) -> None:
        """Wake the waiting threads and callbacks, from any thread."""
        if self._event is not None:
            self._event.set()
        if self._callback is not None:
            self._callback()

    def on_settled(self, callback: Callable[[], None]) -> None:
        """Register a callback, called in any thread, for the end of the wait; at once if it is over."""
        self._callback = callback
        if self.outcome:
            callback()

    def give_up(self, why: TicketOutcome = "time-out") -> None:
        """End the wait, unless it is over."""
        self._leave(self, why)

    def wait(self, seconds: float) -> None:
        """Wait in this thread, for some seconds at most."""
        self._event = Event()
        if not self.outcome:
            self._event.wait(seconds)


class PriorityLevel:
    """One priority level with its current configuration.

    Attributes
    ----------
    nominal, floor, ceiling
        Seats: its own part, what it keeps whatever others need, and what it may have when others need less.
    executing
        Seats that are taken.
    """

    def __init__(self, name: str) -> None:
        self.name, self.uid = name, ""
        self.exempt = False
        self.nominal = self.floor = 0
        self.ceiling: float = 0
        self.executing = 0
        self.running: set[Ticket] = set()
        """The tickets that have seats."""
        self.queues: FairQueues[Ticket] | None = None
        self.known = True
        """True while its object exists; a deleted level still finishes its requests."""

    def configure(self, obj: Object, total: int, shares: int) -> None:
        """Apply an object's configuration, given the seats and shares of all levels."""
        self.uid, self.known = metadata(obj).get("uid", ""), True
        spec = obj.get("spec") or {}
        self.exempt = spec.get("type") == "Exempt"
        part = spec.get("exempt" if self.exempt else "limited") or {}
        self.nominal = ceil(total * shares_of(obj) / shares) if shares else 0
        self.floor = self.nominal - round(self.nominal * (part.get("lendablePercent") or 0) / 100)
        limit = part.get("borrowingLimitPercent")
        self.ceiling = total if limit is None else min(total, self.nominal + round(self.nominal * limit / 100))
        self._configure_queues(obj)

    def _configure_queues(self, obj: Object) -> None:
        response = at(obj, "spec", "limited", "limitResponse") or {}
        if self.exempt or response.get("type") != "Queue":
            shape = None
        else:
            given = response.get("queuing") or {}
            queues, hand, longest = (
                given.get(name) or usual for name, usual in zip(_QUEUE_FIELDS, _USUAL_QUEUES, strict=True)
            )
            shape = (queues, hand, longest)
        if shape == (self.queues.shape if self.queues is not None else None):
            return
        before, self.queues = self.queues, FairQueues(*shape) if shape is not None else None
        while before:
            ticket = before.take()
            if self.queues is None or not self.queues.offer(ticket.flow.name, ticket, ticket.seats):
                ticket.settle("queue-full")
                ticket.tell()

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self.queues) if self.queues is not None else 0


def shares_of(obj: Object) -> int:
    """The shares in a level's object."""
    spec = obj.get("spec") or {}
    if spec.get("type") == "Exempt":
        return int(at(spec, "exempt", "nominalConcurrencyShares") or 0)
    shares = at(spec, "limited", "nominalConcurrencyShares")
    return USUAL_SHARES if shares is None else int(shares)


class Flow:
    """Requests that take turns as one: of one schema, and of one user or namespace."""

    __slots__ = ("configuration", "distinguisher", "headers", "level", "name", "schema")

    def __init__(self, schema: FlowSchema, level: PriorityLevel, distinguisher: str, configuration: int = 0) -> None:
        self.schema, self.level, self.distinguisher = schema, level, distinguisher
        self.configuration = configuration
        self.name = f"{schema.name}\n{distinguisher}"
        self.headers = (
            ("X-Kubernetes-PF-FlowSchema-UID", schema.uid),
            ("X-Kubernetes-PF-PriorityLevel-UID", level.uid),
        )
