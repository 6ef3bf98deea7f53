"""Priority and fairness: priority levels share the seats of the server, and flow schemas say who takes whose.

Upstream: k8s.io/apiserver/pkg/util/flowcontrol, release 1.30, without its queues: a request for which there is no seat
is refused, as by a level with the limit response ``Reject``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final

from simkit.engine.pipeline import request_context
from simkit.engine.pipeline.flowcontrol.flow_schema import READING, FlowSchema, InFlight, TooManyRequests
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import is_long_running
from simkit.meta.domain import api_group
from simkit.meta.identity import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.seams import Change, ListWatcher

FLOW_GROUP: Final = api_group("flowcontrol.apiserver")
SCHEMAS, LEVELS = (GroupResource(FLOW_GROUP, name) for name in ("flowschemas", "prioritylevelconfigurations"))
_USUAL_SHARES: Final = 30
_REMEMBERED: Final = 8192
_LONGEST_KEY: Final = 1024
"""The limits of cached flows and of their keys, since clients choose the paths."""


class PriorityLevel:
    """One priority level with its current configuration.

    Attributes
    ----------
    nominal, floor, ceiling
        Seats: its own part, what it keeps whatever others need, and what it may have when others need less.
    executing
        Seats that are taken: one for each request.
    """

    def __init__(self, name: str) -> None:
        self.name, self.uid = name, ""
        self.exempt = False
        self.nominal = self.floor = self.executing = 0
        self.ceiling: float = 0

    def configure(self, obj: Object, total: int, shares: int) -> None:
        """Apply an object's configuration, given the seats and shares of all levels."""
        self.uid = metadata(obj).get("uid", "")
        spec = obj.get("spec") or {}
        self.exempt = spec.get("type") == "Exempt"
        part = spec.get("exempt" if self.exempt else "limited") or {}
        self.nominal = ceil(total * shares_of(obj) / shares) if shares else 0
        self.floor = self.nominal - round(self.nominal * (part.get("lendablePercent") or 0) / 100)
        limit = part.get("borrowingLimitPercent")
        self.ceiling = total if limit is None else min(total, self.nominal + round(self.nominal * limit / 100))


def shares_of(obj: Object) -> int:
    """The shares in a level's object."""
    spec = obj.get("spec") or {}
    if spec.get("type") == "Exempt":
        return int(at(spec, "exempt", "nominalConcurrencyShares") or 0)
    shares = at(spec, "limited", "nominalConcurrencyShares")
    return _USUAL_SHARES if shares is None else int(shares)


class Flow:
    """The requests of one schema, which take the seats of its level."""

    __slots__ = ("configuration", "headers", "level", "schema")

    def __init__(self, schema: FlowSchema, level: PriorityLevel, configuration: int = 0) -> None:
        self.schema, self.level, self.configuration = schema, level, configuration
        self.headers = (
            ("X-Kubernetes-PF-FlowSchema-UID", schema.uid),
            ("X-Kubernetes-PF-PriorityLevel-UID", level.uid),
        )


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

    Notes
    -----
    A request costs a look into a table and a counter. A level may take more than its part while others leave theirs,
    as far as they lend it and it may borrow: kube-apiserver moves these limits every ten seconds, here they follow at
    once.

    References
    ----------
    KEP 1040 (priority and fairness), KEP 1040's borrowing between levels.
    """

    def __init__(self, store: ListWatcher, seats: int) -> None:
        super().__init__()
        self._store, self.seats = store, seats
        self._stale = True
        self._configuration = 0
        """The number of configurations so far: flows belong to one of them."""
        self._schemas: Sequence[FlowSchema] = ()
        self.levels: dict[str, PriorityLevel] = {}
        self._flows: dict[tuple[Any, ...], Flow] = {}
        store.listen(self._follow, (SCHEMAS, LEVELS))

    def _follow(self, changes: Sequence[Change]) -> None:
        self._stale = True

    def enter(self, context: RequestContext) -> None:
        """Take a seat for a request; ``leave`` must follow. Raises TooManyRequests."""
        info = context.info
        if is_long_running(info) and info.verb != "watch":
            return
        with self._lock:
            flow = context.flow = self._flow(context)
            if info.verb == "watch":
                return
            if not self._fits(flow.level):
                raise TooManyRequests
            flow.level.executing += 1
            context.request_kind = info.verb not in READING
            self._running[context.request_kind] += 1

    def passes(self, flow: request_context.Flow | None) -> bool:
        """True if there is a seat now for a short request, which takes none; False if it has to ``enter``."""
        if not isinstance(flow, Flow):
            return False
        with self._lock:
            return not self._stale and flow.configuration == self._configuration and self._fits(flow.level)

    def leave(self, context: RequestContext) -> None:
        """Release the seat of a request."""
        if context.request_kind is None:
            return
        assert isinstance(context.flow, Flow)
        with self._lock:
            self._running[context.request_kind] -= 1
            context.flow.level.executing -= 1
        context.request_kind = None

    # All of what follows is called with the lock held.

    def _fits(self, level: PriorityLevel) -> bool:
        """True if a level may take one more seat: its own, or one that others can do without."""
        after = level.executing + 1
        if level.exempt or after == 1 or after <= level.floor:
            return True
        others = (each for each in self.levels.values() if each is not level and not each.exempt)
        return after <= level.ceiling and after + sum(max(each.executing, each.floor) for each in others) <= self.seats

    def _flow(self, context: RequestContext) -> Flow:
        if self._stale:
            self._configure()
        info, identity = context.info, context.actor()
        known = (identity.user, identity.groups, info.verb, info.group, info.resource, info.subresource)
        key = (*known, info.namespace if info.is_resource else info.path, info.is_resource)
        flow = self._flows.get(key)
        if flow is None:
            schema = next((each for each in self._schemas if each.matches(info, identity)), self._schemas[-1])
            flow = Flow(schema, self.levels[schema.level], self._configuration)
            if sum(len(part) for part in key if isinstance(part, str)) > _LONGEST_KEY:
                return flow
            if len(self._flows) >= _REMEMBERED:
                self._flows.clear()
            self._flows[key] = flow
        return flow

    def _configure(self) -> None:
        """Apply the stored configuration."""
        self._stale = False
        self._configuration += 1
        objects = {name_of(obj): obj for obj in self._objects(LEVELS)}
        shares = sum(map(shares_of, objects.values()))
        self.levels = {name: self.levels.get(name) or PriorityLevel(name) for name in objects}
        for name, obj in objects.items():
            self.levels[name].configure(obj, self.seats, shares)
        schemas = [schema for obj in self._objects(SCHEMAS) if (schema := FlowSchema.of(obj)).level in self.levels]
        self._schemas = sorted(schemas, key=lambda each: (each.precedence, each.name))
        self._flows.clear()

    def _objects(self, resource: GroupResource) -> Sequence[Object]:
        found = {entry.key.name: entry.object for entry in self._store.scan(resource)}
        return [*found.values(), *(obj for obj in _MANDATORY[resource] if name_of(obj) not in found)]
