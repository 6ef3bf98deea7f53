"""Heartbeats of simulated nodes: leases that are renewed, and what their kubelets report of them.

Upstream: pkg/kubelet/kubelet_node_status.go and k8s.io/component-helpers/apimachinery/lease, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from simkit.engine.controllers.controller_manager import Perform
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.work_queue import WorkQueue
from simkit.meta.clock import Clock, SimulatedClock
from simkit.simulation.kubelet.simulated_node import NodeClient, SimulatedNode, renew_lease, report_conditions

_RENEW_EVERY: Final = 10.0
_RENEW_SIMULATED: Final = 300.0
"""On a clock that is turned nodes need not report to be known to live."""
_RENEWED_SIMULATED: Final = 100
"""The most leases that are renewed in that time, so that thousands of nodes live through a day in a minute."""
_RENEWED_IN_A_SECOND: Final = 50
"""The most leases that are renewed in a second: more nodes renew theirs less often."""
REPORT_EVERY: Final = 300.0
"""Seconds after which a node is reported though nothing has changed."""
_REPORT_CHANGES: Final = 10.0
"""Seconds after which a change of a node is reported."""


class Heartbeats:
    """The heartbeats of all simulated nodes.

    Parameters
    ----------
    perform
        Sends a request in the name of a node.
    """

    def __init__(self, clock: Clock, perform: Perform) -> None:
        self._clock, self._perform = clock, perform
        self._beats = WorkQueue[str]("heartbeats", clock)
        self._renewed = 0.0
        self._changed: dict[str, float] = {}
        """Nodes with something to report, and when they do."""

    def period(self, nodes: int) -> float:
        """Seconds between two renewals of the leases of so many nodes."""
        if isinstance(self._clock, SimulatedClock):
            return _RENEW_SIMULATED * max(1.0, nodes / _RENEWED_SIMULATED)
        return max(_RENEW_EVERY, nodes / _RENEWED_IN_A_SECOND)

    def next_time(self, nodes: int) -> float | None:
        """The time of the next heartbeat or report of so many nodes; None without nodes."""
        return min((self._renewed + self.period(nodes), *self._changed.values())) if nodes else None

    def begin(self, now: float) -> None:
        """Count the time from now on, unless it is counted already."""
        self._renewed = self._renewed or now

    def hurry(self) -> None:
        """Have all nodes report as soon as possible."""
        self._renewed = 0.0

    def report_soon(self, node: str, now: float) -> None:
        """Have a node report what has changed, as kubelets do every ten seconds."""
        self._changed.setdefault(node, now + _REPORT_CHANGES)

    def resume_from(self, other: Heartbeats) -> None:
        """Go on as another one, for a fork."""
        self._renewed, self._changed = other._renewed, dict(other._changed)

    def beat(self, lister: Lister, nodes: Mapping[str, SimulatedNode], now: float) -> None:
        """Send what is due."""
        due = self.next_time(len(nodes))
        if due is None or now < due:
            return
        for name in [name for name, when in self._changed.items() if when <= now]:
            del self._changed[name]
            node = nodes.get(name)
            if node is not None and node.alive and node.images.changed:
                report_conditions(NodeClient(self._perform, node), lister, node, now)
        period = self.period(len(nodes))
        if now < self._renewed + period:
            return
        self._renewed = now
        for node in list(nodes.values()):
            if node.alive:
                self._beats.process((node.name,), partial(self._heartbeat, lister, node, now, period))

    def _heartbeat(self, lister: Lister, node: SimulatedNode, now: float, period: float, _: str) -> None:
        client = NodeClient(self._perform, node)
        renew_lease(client, node, now, period)
        if now - node.reported >= REPORT_EVERY and not node.status_in_stages:
            node.reported = now
            report_conditions(client, lister, node, now)
