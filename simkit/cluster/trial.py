"""A fork on which a change is tried, and what the change does to access."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from simkit.cluster.cluster import Cluster


class Trial:
    """A fork of a cluster with everything a cluster has, and the way back to what it came from."""

    def __init__(self, origin: Cluster) -> None:
        self.before, self.cluster = origin, origin.fork()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cluster, name)

    def __repr__(self) -> str:
        return f"<Trial on a fork of {self.before!r}: now at revision {self.cluster.engine.store.revision}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self)[1:-1])}</p>"

    def compare(self) -> DataFrame:
        """Who gained and who lost what: see ``simkit.analysis.access.compare``."""
        from simkit.analysis.access.compare import compare

        self.cluster.settle()
        return compare(self.before.snapshot(), self.cluster.snapshot())

    def compare_paths(self, **more: Any) -> DataFrame:
        """Which escalation paths are new and which are closed: see ``simkit.analysis.escalation.compare_paths``."""
        from simkit.analysis.escalation import compare_paths

        self.cluster.settle()
        return compare_paths(self.before.snapshot(), self.cluster.snapshot(), **more)
