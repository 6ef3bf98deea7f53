"""A fork for a change, with the change's effect on access."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from simkit.cluster.cluster import Cluster
from simkit.cluster.control_plane import ControlPlane
from simkit.cluster.guessed_names import explains_wrong_calls
from simkit.meta.escaping import html_text
from simkit.snapshot.protocol import Sandbox, Snapshot

if TYPE_CHECKING:
    import pandas as pd

    from simkit.analysis.audit_log.events import AuditLog
    from simkit.analysis.escalation.find.goal import Goal
    from simkit.analysis.rbac.subject import Members
    from simkit.logic.rbac.binding import Subject


@explains_wrong_calls
class Trial(Cluster):
    """A fork for a what-if question: a cluster that knows the cluster from which it was made.

    ``cluster.what_if()`` makes one. ``compare`` and ``compare_paths`` tell what its changes did.
    """

    before: Cluster
    """The original cluster, with which ``compare`` and ``compare_paths`` compare."""

    @classmethod
    def on(cls, origin: Cluster) -> Self:
        """A trial on a fork of a cluster."""
        trial = cls._of(origin.forked(), origin.dump)
        trial.before = origin
        return trial

    def _derived(self, made: ControlPlane) -> Self:
        trial = super()._derived(made)
        trial.before = self.before
        return trial

    def __repr__(self) -> str:
        return f"<Trial on a fork of {self.before!r}: now at revision {self.engine.store.revision}>"

    def _repr_html_(self) -> str:
        return f"<p>{html_text(repr(self)[1:-1])}</p>"

    def compare(
        self,
        *,
        before: Snapshot | Sandbox | None = None,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        namespace: str | None = None,
    ) -> pd.DataFrame:
        """The access that subjects gained and lost by the change, after the controllers have settled.

        Parameters
        ----------
        before
            What to compare with; None: the cluster that the trial came from.
        subject, namespace
            As of ``Cluster.compare``.

        Returns
        -------
        DataFrame
            As of ``Cluster.compare``.
        """
        self.settle()
        return super().compare(before=before or self.before, subject=subject, namespace=namespace)

    def refused_requests(self, audit_log: AuditLog, *, before: Snapshot | Sandbox | None = None) -> pd.DataFrame:
        """The requests of an audit log that the change refuses, after the controllers have settled.

        Parameters
        ----------
        audit_log
            What was asked: see ``read_access_requests``.
        before
            What to compare with; None: the cluster that the trial came from.

        Returns
        -------
        DataFrame
            As of ``Cluster.refused_requests``.
        """
        self.settle()
        return super().refused_requests(audit_log, before=before or self.before)

    def compare_paths(
        self,
        *,
        before: Snapshot | Sandbox | None = None,
        goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
        members: Members | None = None,
    ) -> pd.DataFrame:
        """The escalation paths that the change opens and closes, after the controllers have settled.

        Parameters
        ----------
        before
            What to compare with; None: the cluster that the trial came from.
        goal, members
            As of ``Cluster.compare_paths``.

        Returns
        -------
        DataFrame
            As of ``Cluster.compare_paths``.
        """
        self.settle()
        return super().compare_paths(before=before or self.before, goal=goal, members=members)
