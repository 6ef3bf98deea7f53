"""A priority level: its seats, and the requests that wait for them.

Upstream: k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset/queueset.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from threading import Event
from typing import Final

from simkit.engine.pipeline.flowcontrol.fair_queuing import FairQueues
from simkit.engine.pipeline.flowcontrol.flow_schema import FlowSchema
from simkit.engine.pipeline.request_context import RequestContext, TicketOutcome
from simkit.meta.objects import Object, at, metadata

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
