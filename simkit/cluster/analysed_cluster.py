"""The protocol of a cluster for its questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Self

from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.seams.snapshot import Sandbox, Snapshot
from simkit.snapshot.dump import Dump


class AnalysedCluster(ABC):
    """Something that has a snapshot, and forks on which answers can be tried."""

    dump: Dump | None
    """The dump that the objects came from, in their original versions; or None."""

    @property
    @abstractmethod
    def release(self) -> str:
        """The release that it behaves as."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The objects as they are now."""

    def compared_with(self, before: Snapshot | Sandbox | None) -> Snapshot | Sandbox:
        """What a comparison of the cluster is with: what is asked for. A trial also knows where it came from."""
        if before is None:
            raise SimkitError("say what to compare with, before=..., or ask a trial: cluster.what_if()")
        return before

    @abstractmethod
    def fork(self, *, release: str | None = None) -> Self:
        """An independent copy."""

    @abstractmethod
    def with_apis_disabled(self, *elements: str) -> Self:
        """A fork that no longer serves some versions, groups or resources."""

    @abstractmethod
    def perform(self, request: Request, *, identity: Identity | None = None) -> Response:
        """The answer to a request."""

    @abstractmethod
    def rehearsal(self, *, settings: Mapping[str, str]) -> Self:
        """A fork with simulated nodes in the place of all, on a clock of its own."""

    @abstractmethod
    def advance(self, seconds: float) -> None:
        """Let time pass on a simulated clock."""

    @abstractmethod
    def stop_node(self, name: str) -> None:
        """Have the machine of a simulated node fail."""
