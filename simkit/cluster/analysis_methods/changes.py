"""Changes that close escalation paths. Written by tools/write_analysis_methods.py out of simkit.analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simkit.cluster.analysis_methods.analysed_cluster import AnalysedCluster

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simkit.analysis.audit_log.events import AuditLog
    from simkit.analysis.escalation.cut.result import Cut
    from simkit.analysis.escalation.find.goal import Goal
    from simkit.analysis.plan.result import Plan
    from simkit.analysis.rbac.subject import Members
    from simkit.logic.rbac.binding import Subject


class ChangesMethods(AnalysedCluster):
    """Changes that close escalation paths."""

    def cut(
        self,
        goal: Goal | str = "cluster-admin",
        *,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        audit_log: AuditLog | None = None,
        keep: Iterable[Subject | str] = (),
        direct: bool = False,
        members: Members | None = None,
    ) -> Cut:
        """The cheapest set of changes after which no untrusted subject reaches a goal.

        Parameters
        ----------
        goal
            See ``parse_goal``.
        subject
            Whose paths are to be closed: one subject or several; None for everybody but the control plane and those who
            have the goal already.
        audit_log
            An audit log: access that it shows in use is not taken away. Where a path can only be closed by a binding in
            use, its subject is left with just what it uses.
        keep
            Subjects whose access is not touched.
        direct
            Whether those who have the goal without a step are to lose it too.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        Cut
            Subjects taken out of bindings and permissions taken out of rules, weighed by the access that others lose with
            them. Bindings and roles that the server makes itself are not touched.

        Raises
        ------
        SimkitError
            For a text that is no subject or no goal, and for an audit log that is not there.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        A minimum cut with weights: paths are found, a cheapest set that meets all of them is chosen, and paths are looked
        for again, until none is left. Each step of a path may be closed at any of its needs, and a need that several
        grants meet is closed when all of them are.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> len(cluster.cut("cluster-admin"))
        0
        """
        from simkit.analysis.escalation.cut.minimum_cut import cut

        return cut(
            self.snapshot(),
            goal,
            subject=subject,
            audit_log=audit_log,
            keep=keep,
            direct=direct,
            members=members,
            sandbox=self,
        )

    def plan(
        self,
        *,
        goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
        best: int | None = 5,
        free: bool = False,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        audit_log: AuditLog | None = None,
        keep: Iterable[Subject | str] = (),
        members: Members | None = None,
    ) -> Plan:
        """The changes that close the most escalation paths, in the order in which to make them.

        Changes are subjects taken out of bindings, permissions taken out of rules, subjects reduced to what they use,
        levels of pod security, and admission policies that refuse somebody's pods with powerful service accounts. Those
        that break nothing which is used come first.

        Parameters
        ----------
        goal
            What the paths are for: see ``parse_goal``.
        best
            How many changes at most; None: all that are needed until no path is left that changes can close.
        free
            Whether to propose only changes that take away nothing which is used: according to the audit log, or without one
            the access of accounts that pods run as and of installed products.
        subject
            Whose paths are to be closed: one subject or several; None for everybody's.
        audit_log
            An audit log: what it shows in use.
        keep
            Subjects whose access is not touched.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        Plan
            ``.to_frame()`` has one row per change, in order: step, change, kind, object, namespace, closes (paths),
            remaining (paths), subjects and findings (that remain), cumulative_share (of all paths), breaks (texts: what is
            used and lost), harm, loses (permissions, by what-if), cost, risk, command. ``.knee`` is the step after which
            more changes bring little; ``.verify()`` makes them on a fork.

        Raises
        ------
        SimkitError
            For a text that is no subject or no goal, for ``best`` below 1, and for an audit log that is not there.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        Greedy, with lazy evaluation: each step takes the change after which the fewest paths are left in the cluster as it
        would be. With ``best=None`` the steps are those of the cheapest cut of all goals together, and the order is greedy.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> len(cluster.plan())
        0
        """
        from simkit.analysis.plan.choice import plan

        return plan(
            self.snapshot(),
            goal=goal,
            best=best,
            free=free,
            subject=subject,
            audit_log=audit_log,
            keep=keep,
            members=members,
            sandbox=self,
        )
