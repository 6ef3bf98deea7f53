"""The protocol of a cluster on which operations are rehearsed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from simkit.seams.snapshot import Sandbox


class RehearsalCluster(Sandbox, Protocol):
    """A fork in which all nodes are simulated, on a clock of its own."""

    def settle(self) -> int:
        """Run controllers and kubelets until nothing is left to do now."""
        ...

    def advance(self, seconds: float) -> None:
        """Let time pass, with controllers, scheduler and kubelets at work."""
        ...

    def stop_node(self, name: str) -> None:
        """Have the machine of a node fail."""
        ...

    def set_load(self, selector: str, namespace: str, cpu: str) -> None:
        """Have the ready pods that a selector chooses share an amount of CPU."""
        ...


class OperationSandbox(Protocol):
    """A cluster that gives such forks. A Cluster is one."""

    def rehearsal(self, *, settings: Mapping[str, str]) -> RehearsalCluster:
        """A fork with simulated nodes in the place of all; settings are those of all its pods."""
        ...
