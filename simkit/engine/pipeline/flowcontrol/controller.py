"""Priority and fairness: levels share the seats of the server, and flows those of their level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from simkit.engine.pipeline import request_context
from simkit.engine.pipeline.flowcontrol.flow_schema import READING, FlowSchema, InFlight, TooManyRequests
from simkit.engine.pipeline.flowcontrol.priority_level import Flow, PriorityLevel, Ticket, shares_of
from simkit.engine.pipeline.request_context import RequestContext, TicketOutcome
from simkit.engine.pipeline.request_info import is_long_running
from simkit.meta.clock import Clock
from simkit.meta.domain import api_group
from simkit.meta.histogram import Histogram
from simkit.meta.identity import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from simkit.meta.integers import parse_int
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, name_of
from simkit.seams import Change, ListWatcher

T = TypeVar("T")
FLOW_GROUP: Final = api_group("flowcontrol.apiserver")
SCHEMAS, LEVELS = (GroupResource(FLOW_GROUP, name) for name in ("flowschemas", "prioritylevelconfigurations"))
WAITS: Final = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0)
"""Upper bounds of the buckets of seconds in queues."""
_WIDEST: Final = 10
_OBJECTS_A_SEAT: Final = 100
_SHARE_OF_WIDEST: Final = 0.15
_REMEMBERED: Final = 8192
_LONGEST_KEY: Final = 1024
"""The limits of cached flows and of their keys, since clients choose the paths."""


def _for_groups(name: str, level: str, precedence: int, *groups: str) -> Object:
    every = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    rule = {
        "subjects": [{"kind": "Group", "group": {"name": group}} for group in groups],
        "resourceRules": [every],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    spec = {"matchingPrecedence": precedence, "priorityLevelConfiguration": {"name": level}, "rules": [rule]}
    return {"metadata": {"name": name}, "spec": spec}


_MANDATORY: Final[Mapping[GroupResource, Sequence[Object]]] = {
    SCHEMAS: (
        _for_groups("exempt", "exempt", 1, MASTERS),
        _for_groups("catch-all", "catch-all", 10_000, UNAUTHENTICATED, AUTHENTICATED),
    ),
    LEVELS: (
        {"metadata": {"name": "exempt"}, "spec": {"type": "Exempt"}},
        {
            "metadata": {"name": "catch-all"},
            "spec": {
                "type": "Limited",
                "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}},
            },
        },
    ),
}
"""The mandatory objects, which apply where the store has no such object."""


class FlowControl(InFlight):
    """Assigns seats according to the flow schemas and priority levels in a store.

    Parameters
    ----------
    store
        Where they are; what changes there counts from the next request on.
    seats
        How many there are.
    clock
        When requests arrive, and get room.

    Notes
    -----
    As long as nobody waits, a request costs a look into a table and a counter. A level may take more than its part
    while others leave theirs, as far as they lend it and it may borrow: kube-apiserver moves these limits every ten
    seconds, here they follow at once.

    References
    ----------
    KEP 1040 (priority and fairness), KEP 1040's borrowing between levels.
    """

    def __init__(self, store: ListWatcher, seats: int, clock: Clock) -> None:
        super().__init__()
        self._store, self.seats, self._clock = store, seats, clock
        self._stale = True
        self._configuration = 0
        """The number of configurations so far: flows belong to one of them."""
        self._schemas: Sequence[FlowSchema] = ()
        self.levels: dict[str, PriorityLevel] = {}
        self._flows: dict[tuple[Any, ...], Flow] = {}
        self._claimed = self._waiting = 0
        self.dispatched: Counter[tuple[str, str]] = Counter()
        """Executed requests, by level and schema."""
        self.rejected: Counter[tuple[str, str, str]] = Counter()
        """Rejected requests, by level, schema and reason."""
        self.waits: dict[tuple[str, str, str], Histogram] = {}
        """Seconds in queues, by level, schema, and whether the request was executed then."""
        self.widths: Counter[tuple[str, str, int]] = Counter()
        """Executed requests of more than one seat, by level, schema and seats."""
        store.listen(self._follow, (SCHEMAS, LEVELS))

    def _follow(self, changes: Sequence[Change]) -> None:
        self._stale = True

    def enter(self, context: RequestContext) -> None:
        """Take seats for a request, or give it a ticket to wait with. Raises TooManyRequests.

        ``leave`` must follow. Called again when the ticket is settled, it takes the room, or refuses.
        """
        info = context.info
        if context.ticket is not None:
            assert isinstance(context.ticket, Ticket)
            self._settled(context, context.ticket)
            return
        if is_long_running(info) and info.verb != "watch":
            return
        with self._lock:
            flow = context.flow = self._flow(context)
            if info.verb == "watch":
                return
            seats = 1 if info.verb != "list" else self._width(context, flow.level)
            ticket = Ticket(context, flow, seats, self._clock.now(), self._give_up)
            outcome = self._asked(ticket)
            if outcome == "granted":
                self._started(context, ticket)
            elif not outcome:
                context.ticket = ticket
            else:
                self.rejected[flow.level.name, flow.schema.name, outcome] += 1
                raise TooManyRequests

    def passes(self, flow: request_context.Flow | None) -> bool:
        """Count a short request as executed if there is a seat for it now; False if it has to ``enter``."""
        if not isinstance(flow, Flow):
            return False
        with self._lock:
            level = flow.level
            if self._stale or flow.configuration != self._configuration:
                return False
            if not level.exempt and (level.waiting or not self._fits(level, 1)):
                return False
            self.dispatched[level.name, flow.schema.name] += 1
            return True

    def _started(self, context: RequestContext, ticket: Ticket) -> None:
        kind = context.info.verb not in READING
        self._running[kind] += 1
        self.dispatched[ticket.flow.level.name, ticket.flow.schema.name] += 1
        if ticket.seats > 1:
            self.widths[ticket.flow.level.name, ticket.flow.schema.name, ticket.seats] += 1
        context.request_kind, context.ticket = kind, ticket

    def _settled(self, context: RequestContext, ticket: Ticket) -> None:
        if ticket.outcome != "granted":
            context.ticket = None
            raise TooManyRequests
        with self._lock:
            self._waited(ticket, "true")
            self._started(context, ticket)

    def _waited(self, ticket: Ticket, executed: str) -> None:
        labels = (ticket.flow.level.name, ticket.flow.schema.name, executed)
        seconds = (ticket.started or self._clock.now()) - ticket.arrived
        self.waits.setdefault(labels, Histogram(WAITS)).add(seconds)

    def leave(self, context: RequestContext) -> None:
        """Release the seats of a request, and wake waiting ones."""
        ticket = context.ticket
        if ticket is None or context.request_kind is None:
            return
        assert isinstance(ticket, Ticket)
        with self._lock:
            self._running[context.request_kind] -= 1
            ticket.flow.level.running.discard(ticket)
            self._take(ticket.flow.level, -ticket.seats)
            woken = self._next() if self._waiting else ()
        context.request_kind = context.ticket = None
        for each in woken:
            each.tell()

    def look(self, view: Callable[[Mapping[str, PriorityLevel]], T]) -> T:
        """The result of a function of the levels by name, called under the lock."""
        with self._lock:
            if self._stale:
                self._configure()
            return view(self.levels)

    def _give_up(self, ticket: Ticket, why: TicketOutcome) -> None:
        with self._lock:
            if ticket.outcome:
                return
            ticket.settle(why)
            self._waiting -= 1
            if ticket.flow.level.queues is not None:
                ticket.flow.level.queues.discard(ticket)
            self.rejected[ticket.flow.level.name, ticket.flow.schema.name, why] += 1
            self._waited(ticket, "false")
        ticket.tell()

    # All of what follows is called with the lock held. Seats:

    def _asked(self, ticket: Ticket) -> TicketOutcome:
        level = ticket.flow.level
        if level.exempt or (not level.waiting and self._fits(level, ticket.seats)):
            self._grant(ticket)
        elif level.queues is None:
            ticket.settle("concurrency-limit")
        elif level.queues.offer(ticket.flow.name, ticket, ticket.seats):
            self._waiting += 1
        else:
            ticket.settle("queue-full")
        return ticket.outcome

    def _fits(self, level: PriorityLevel, seats: int) -> bool:
        """True if a level may take more seats: its own, or those that others can do without."""
        after = level.executing + seats
        if not level.executing or after <= level.floor:
            return True
        if after > level.ceiling:
            return False
        return self._claimed - max(level.executing, level.floor) + after <= self.seats

    def _grant(self, ticket: Ticket) -> None:
        self._take(ticket.flow.level, ticket.seats)
        ticket.flow.level.running.add(ticket)
        ticket.started = self._clock.now()
        ticket.settle("granted")

    def _take(self, level: PriorityLevel, seats: int) -> None:
        if not level.exempt:
            self._claimed -= max(level.executing, level.floor)
            level.executing += seats
            self._claimed += max(level.executing, level.floor)

    def _next(self) -> Sequence[Ticket]:
        """The waiting tickets that get seats now."""
        woken = []
        for level in self.levels.values():
            while level.queues and (found := level.queues.first()) and self._fits(level, found[1]):
                ticket = level.queues.take()
                self._waiting -= 1
                self._grant(ticket)
                woken.append(ticket)
        return woken

    # Who belongs where:

    def _flow(self, context: RequestContext) -> Flow:
        if self._stale:
            self._configure()
        info, identity = context.info, context.actor()
        known = (identity.user, identity.groups, info.verb, info.group, info.resource, info.subresource)
        key = (*known, info.namespace if info.is_resource else info.path, info.is_resource)
        flow = self._flows.get(key)
        if flow is None:
            schema = next((each for each in self._schemas if each.matches(info, identity)), self._schemas[-1])
            flow = Flow(schema, self.levels[schema.level], schema.flow_of(info, identity), self._configuration)
            if sum(len(part) for part in key if isinstance(part, str)) > _LONGEST_KEY:
                return flow
            if len(self._flows) >= _REMEMBERED:
                self._flows.clear()
            self._flows[key] = flow
        return flow

    def _width(self, context: RequestContext, level: PriorityLevel) -> int:
        """The seats of a list: one per hundred objects, within limits."""
        info, query = context.info, context.request.query
        if info.name:
            return 1
        objects = self._store.count(GroupResource(info.group, info.resource))
        limit = parse_int(context.request.option("limit")) or 0
        if limit > 0 and not ("labelSelector" in query or "fieldSelector" in query):
            objects = min(objects, limit)
        widest = max(1, min(_WIDEST, int(level.nominal * _SHARE_OF_WIDEST)))
        return max(1, min(widest, -(-objects // _OBJECTS_A_SEAT)))

    def _configure(self) -> None:
        """Apply the stored configuration."""
        self._stale = False
        self._configuration += 1
        levels = self._objects(LEVELS)
        shares = sum(map(shares_of, levels))
        for level in self.levels.values():
            level.known = False
        for obj in levels:
            self.levels.setdefault(name_of(obj), PriorityLevel(name_of(obj))).configure(obj, self.seats, shares)
        idle = [each.name for each in self.levels.values() if not (each.known or each.running or each.waiting)]
        for name in idle:
            del self.levels[name]
        self._claimed = sum(max(each.executing, each.floor) for each in self.levels.values())
        self._waiting = sum(each.waiting for each in self.levels.values())
        known = {name_of(obj) for obj in levels}
        schemas = [schema for obj in self._objects(SCHEMAS) if (schema := FlowSchema.of(obj)).level in known]
        self._schemas = sorted(schemas, key=lambda each: (each.precedence, each.name))
        self._flows.clear()

    def _objects(self, resource: GroupResource) -> Sequence[Object]:
        found = {entry.key.name: entry.object for entry in self._store.scan(resource)}
        return [*found.values(), *(obj for obj in _MANDATORY[resource] if name_of(obj) not in found)]
