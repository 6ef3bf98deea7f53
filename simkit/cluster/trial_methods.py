"""The effect of a trial's changes on access, as methods of the trial."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from simkit.cluster.analysis_methods import AnalysisMethods

if TYPE_CHECKING:
    import pandas as pd

    from simkit.analysis.audit_log.events import AuditLog
    from simkit.analysis.escalation.find.goal import Goal
    from simkit.analysis.prove.answer import ProofAnswer
    from simkit.analysis.rbac.subject import Members
    from simkit.cluster.cluster import Cluster
    from simkit.logic.rbac.binding import Subject
    from simkit.seams.snapshot import Sandbox, Snapshot


class TrialMethods(AnalysisMethods):
    """The part of ``Trial`` that tells what its changes did."""

    before: Cluster
    """The original cluster, with which ``compare`` and ``compare_paths`` compare."""

    if TYPE_CHECKING:  # the cluster has it

        def settle(self) -> int: ...

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

    def no_new_access(
        self, *, before: Snapshot | Sandbox | None = None, within_hops: int = 0, members: Members | None = None
    ) -> ProofAnswer:
        """The proof that the change allows nothing new, or the new requests, after the controllers have settled.

        Parameters
        ----------
        before
            What to compare with; None: the cluster that the trial came from.
        within_hops, members
            As of ``Cluster.no_new_access``.

        Returns
        -------
        ProofAnswer
            As of ``Cluster.no_new_access``.
        """
        self.settle()
        return super().no_new_access(before=before or self.before, within_hops=within_hops, members=members)

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
