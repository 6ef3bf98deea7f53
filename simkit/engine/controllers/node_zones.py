"""Zones of nodes in trouble, and how quickly nodes of each are tainted so that their pods are evicted.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (``handleDisruption``, ``ComputeZoneState``) and
scheduler/rate_limited_queue.go, release 1.30.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from simkit.meta.domain import label
from simkit.meta.objects import Object, labels_of

ZoneState = Literal["normal", "partial disruption", "full disruption"]
_FEW: Final = 2
"""The nodes that may be unready in a zone of any size."""
_TOPOLOGY: Final = tuple((label(name, "topology"), label(name, "failure-domain.beta")) for name in ("region", "zone"))


class EvictionRates(NamedTuple):
    """The flags of kube-controller-manager about evictions from nodes that have failed.

    Attributes
    ----------
    normal
        Nodes per second in a zone that is healthy, or down as a whole.
    secondary
        Nodes per second in a big zone of which a part is unhealthy; small ones have no evictions then.
    unhealthy
        The share of nodes from which on a zone counts as unhealthy.
    large
        The number of nodes above which a zone counts as big.
    """

    normal: float = 0.1
    secondary: float = 0.01
    unhealthy: float = 0.55
    large: int = 50

    def state(self, ready: int, unready: int) -> ZoneState:
        """The state of a zone with these numbers of nodes.

        Examples
        --------
        >>> EvictionRates().state(2, 2), EvictionRates().state(2, 3), EvictionRates().state(0, 1)
        ('normal', 'partial disruption', 'full disruption')
        """
        if not ready and unready:
            return "full disruption"
        if unready > _FEW and unready / (ready + unready) >= self.unhealthy:
            return "partial disruption"
        return "normal"

    def per_second(self, state: ZoneState, size: int) -> float:
        """The nodes of a zone that are tainted in a second."""
        if state != "partial disruption":
            return self.normal
        return self.secondary if size > self.large else 0.0


DEFAULT_RATES: Final = EvictionRates()
"""The rates of kube-controller-manager by default."""


def zone_of(node: Object) -> str:
    """The zone of a node with its region; empty where it has neither."""
    labels = labels_of(node)
    parts = [labels.get(new) or labels.get(old) or "" for new, old in _TOPOLOGY]
    return ":".join(parts) if any(parts) else ""


@dataclass(slots=True)
class _Zone:
    """The nodes of one zone."""

    rate: float
    ready: set[str] = field(default_factory=set)
    unready: set[str] = field(default_factory=set)
    waiting: dict[str, None] = field(default_factory=dict)
    """Nodes that are to be tainted, the next one first."""
    free_at: float = 0.0
    """The time from which on the next node may be tainted."""

    def change_rate(self, rate: float, now: float) -> None:
        """Taint more or less quickly from now on; who waited already waits as long as for one node."""
        if rate == self.rate:
            return
        waits = self.rate <= 0 or now < self.free_at
        self.rate = rate
        self.free_at = now + 1 / rate if waits and rate > 0 else now

    def copy(self) -> _Zone:
        return _Zone(self.rate, set(self.ready), set(self.unready), dict(self.waiting), self.free_at)


class NodeZones:
    """The zones of a cluster."""

    def __init__(self, rates: EvictionRates) -> None:
        self._rates = rates
        self._zones: dict[str, _Zone] = {}
        self._of: dict[str, str] = {}
        """The zone of each node."""

    def resume_from(self, other: NodeZones) -> None:
        """Know the same zones."""
        self._zones = {name: zone.copy() for name, zone in other._zones.items()}
        self._of = dict(other._of)

    @property
    def all_down(self) -> bool:
        """True if no node that counts is ready in any zone: rather the network than all machines has failed."""
        zones = [each for each in self._zones.values() if each.ready or each.unready]
        return bool(zones) and not any(each.ready for each in zones)

    def put(self, node: str, zone: str, *, counts: bool, ready: bool) -> None:
        """Keep the state of a node; one that does not count is tainted as others are, but tells nothing of its zone."""
        if self._of.get(node, zone) != zone:
            self.remove(node)
        self._of[node] = zone
        known = self._zones.setdefault(zone, _Zone(self._rates.normal))
        known.ready.discard(node)
        known.unready.discard(node)
        if counts:
            (known.ready if ready else known.unready).add(node)
        if ready:
            known.waiting.pop(node, None)

    def remove(self, node: str) -> None:
        """Forget a node."""
        zone = self._zones.get(self._of.pop(node, ""))
        if zone is not None:
            zone.ready.discard(node)
            zone.unready.discard(node)
            zone.waiting.pop(node, None)

    def zone(self, node: str) -> str | None:
        """The zone of a node; None for one that is not known."""
        return self._of.get(node)

    def first(self, zone: str | None) -> str | None:
        """The node of a zone that is to be tainted next."""
        known = self._zones.get(zone) if zone is not None else None
        return next(iter(known.waiting), None) if known is not None else None

    def adapt(self, now: float) -> None:
        """Set the rate of each zone by the state that it is in."""
        stopped = self.all_down
        for zone in self._zones.values():
            size = len(zone.ready) + len(zone.unready)
            state = self._rates.state(len(zone.ready), len(zone.unready))
            zone.change_rate(0.0 if stopped else self._rates.per_second(state, size), now)

    def turn_of(self, node: str) -> float | None:
        """The time at which a node is to be tainted if nothing changes; None for never, and where others come first.

        It waits from now on. When the first one had its turn, it is the turn of the next.
        """
        zone = self._zones[self._of[node]]
        zone.waiting.setdefault(node)
        return zone.free_at if zone.rate > 0 and next(iter(zone.waiting)) == node else None

    def tainted(self, node: str, now: float) -> None:
        """Note that a node had its turn."""
        zone = self._zones[self._of[node]]
        zone.waiting.pop(node, None)
        zone.free_at = now + 1 / zone.rate if zone.rate > 0 else now

    def drop(self, node: str) -> None:
        """Have a node wait no longer."""
        zone = self._zones.get(self._of.get(node, ""))
        if zone is not None:
            zone.waiting.pop(node, None)
