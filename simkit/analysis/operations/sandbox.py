"""The protocol of a cluster on which operations are rehearsed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.seams.snapshot import Snapshot


class RehearsalCluster(Protocol):
    """A fork in which all nodes are simulated, on a clock of its own."""

    def perform(self, request: Request, *, identity: Identity) -> Response:
        """The answer to one request of this identity."""
        ...

    def snapshot(self) -> Snapshot:
        """The objects as they are now."""
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
