"""A node for a pod that preempts others, with those that would have to leave it."""

from __future__ import annotations

from dataclasses import dataclass

from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node, and the pods that would leave it."""

    info: NodeInfo
    victims: tuple[PodInfo, ...]
    violations: int
    """The number of victims that a disruption budget would keep."""
