"""AnalysisMethods about privilege escalation. Written by tools/write_analysis_methods.py out of simkit.analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simkit.cluster.analysis_methods.analysed_cluster import AnalysedCluster

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from simkit.analysis.escalation.find.blast_radius import BlastRadius
    from simkit.analysis.escalation.find.goal import Goal
    from simkit.analysis.escalation.find.queries import Escalations, Ways
    from simkit.analysis.escalation.find.search import By
    from simkit.analysis.rbac.subject import Members
    from simkit.logic.rbac.binding import Subject
    from simkit.snapshot.protocol import Sandbox, Snapshot


class EscalationMethods(AnalysedCluster):
    """AnalysisMethods about privilege escalation."""

    def escalations(
        self,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
        *,
        by: By = "hops",
        ways: Ways = "best",
        max_hops: int | None = None,
        direct: bool = False,
        members: Members | None = None,
    ) -> Escalations:
        """The best path of each subject to each goal, or the best one for each first step of the subject.

        Parameters
        ----------
        subject
            The attacker: ``alice``, ``group:devs``, ``sa:ns/name``, ``pod:ns/name`` for code in a pod, or several of them.
            None: every known subject, a user with any login and a user without one included.
        goal
            What the attacker wants: ``cluster-admin``, ``all secrets`` and others, see ``parse_goal``.
        by
            Whether the fewest hops or the least cost are best.
        ways
            ``best``: one path per subject and goal. ``each``: for every first step that leads to the goal, the best path
            that begins with it; closing one of them leaves the others.
        direct
            Whether to list also subjects that have the goal without any step.
        members
            Groups that the cluster does not keep, as for ``who_can``.
        max_hops
            Longer paths do not count. It goes with ``by="hops"`` only.

        Returns
        -------
        Escalations
            The paths, the shortest first. ``.to_frame()`` has one row per path: subject, goal, hops, cost, severity,
            primitives (ids), path (what is passed); ``.prove()`` executes them.

        Raises
        ------
        SimkitError
            For a text that is no subject or no goal, for a pod that is not there, and for ``max_hops`` with
            ``by="cost"``.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        Near-linear in grants and objects, for all subjects together.

        Examples
        --------
        >>> from simkit.analysis import escalations
        >>> from simkit.snapshot.memory import MemorySnapshot
        >>> len(escalations(MemorySnapshot([], captured=["*"])))
        0
        """
        from simkit.analysis.escalation.find.queries import escalations

        return escalations(
            self.snapshot(),
            subject,
            goal,
            by=by,
            ways=ways,
            max_hops=max_hops,
            direct=direct,
            members=members,
            sandbox=self,
        )

    def next_steps(self, subject: Subject | str, *, members: Members | None = None) -> Escalations:
        """Every single step that a subject can take, with the identity, access or harm after it.

        Parameters
        ----------
        subject
            As for ``escalations``: one.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        Escalations
            One path of a single step each.

        Raises
        ------
        SimkitError
            For a text that is no subject.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> from simkit.analysis import next_steps
        >>> from simkit.snapshot.memory import MemorySnapshot
        >>> list(next_steps(MemorySnapshot([], captured=["*"]), "alice"))
        []
        """
        from simkit.analysis.escalation.find.queries import next_steps

        return next_steps(self.snapshot(), subject, members=members, sandbox=self)

    def outsiders(
        self,
        goal: Goal | str = "cluster-admin",
        *,
        allowed: Iterable[str] = (),
        max_hops: int | None = None,
        direct: bool = True,
        members: Members | None = None,
    ) -> Escalations:
        """The paths of all subjects that should not reach a goal; empty if an expectation holds.

        Parameters
        ----------
        allowed
            Who may: texts as ``parse_subject`` reads them, with ``*`` for any part (``group:platform-*``,
            ``sa:kube-system/*``).
        max_hops
            Longer ways do not count.
        goal
            What the attacker wants: ``cluster-admin``, ``all secrets`` and others, see ``parse_goal``.
        direct
            Whether those count too who have the goal without any step.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        Escalations
            The best path of everybody else who gets there; false in a condition if there is none.

        Raises
        ------
        SimkitError
            For a text that is no goal.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> from simkit.analysis import outsiders
        >>> from simkit.snapshot.memory import MemorySnapshot
        >>> assert not outsiders(MemorySnapshot([], captured=["*"]), allowed=["group:platform"], max_hops=3)
        """
        from simkit.analysis.escalation.find.queries import outsiders

        return outsiders(self.snapshot(), goal, allowed=allowed, max_hops=max_hops, direct=direct, members=members)

    def blast_radius(
        self, subject: Subject | str, *, max_hops: int | None = None, by: By = "hops", members: Members | None = None
    ) -> BlastRadius:
        """Everything that a subject, or code in a pod (``pod:ns/name``), can reach by escalation.

        Parameters
        ----------
        subject
            As for ``escalations``: one.
        max_hops
            Places further away do not count. It goes with ``by="hops"`` only.
        by
            Whether the fewest hops or the least cost are best.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        BlastRadius
            ``reached`` has one row per place: place, kind, name, namespace, hops, cost, primitives on the way.

        Raises
        ------
        SimkitError
            For a text that is no subject, for a pod that is not there, and for ``max_hops`` with ``by="cost"``.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.blast_radius("user:ann").cluster_admin
        False
        """
        from simkit.analysis.escalation.find.blast_radius import blast_radius

        return blast_radius(self.snapshot(), subject, max_hops=max_hops, by=by, members=members)

    def compare_paths(
        self,
        *,
        before: Snapshot | Sandbox,
        goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
        members: Members | None = None,
    ) -> pd.DataFrame:
        """The paths that are new and those that are closed, between two snapshots or in a what-if.

        Parameters
        ----------
        before
            The earlier and the later cluster or snapshot.
        goal
            What for: see ``parse_goal``.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        DataFrame
            One row per subject and goal whose best path appeared (``new``), went away (``closed``), or became shorter or
            longer: change, then the columns of ``Escalations.to_frame`` and hops_before.

        Raises
        ------
        SimkitError
            For a text that is no goal.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> len(cluster.compare_paths(before=cluster.snapshot()))
        0
        """
        from simkit.analysis.escalation.find.path_comparison import compare_paths

        return compare_paths(before, self.snapshot(), goal=goal, members=members)

    def risky_permissions(
        self, subject: Subject | str | Iterable[Subject | str] | None = None, *, members: Members | None = None
    ) -> pd.DataFrame:
        """Every primitive whose requirements a subject meets with all its grants together.

        Parameters
        ----------
        subject
            Who: as for ``escalations``, or None for all whom bindings name that are not the server's own.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        DataFrame
            One row per subject and primitive.

            subject
                As people write it.
            primitive, class, severity, title
                What it is; the id is that of the table.
            namespaces
                Where its needs are met (``*``: everywhere), as a tuple.
            flagged
                False for what gives and harms nothing by itself: also where the grant is for single names that are not
                there, or leads only to roles and identities that give nothing that matters.
            everybody
                Whether everybody with a login has it too.
            verdict, reason
                ``unproven`` without a sandbox. With one: ``proven`` where it was executed on a fork; ``possible`` where it
                was executed on a fork with something that the cluster lacks, which the reason names; ``refused`` by the
                server; ``harmless``; or ``not executed`` with the reason.
            leads_to, granted_by, mitigation
                The end of the step, the first source of each need as a tuple, and what to do.

        Raises
        ------
        SimkitError
            For a text that is no subject, and for who holds no grants.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> from simkit.analysis import risky_permissions
        >>> from simkit.snapshot.memory import MemorySnapshot
        >>> len(risky_permissions(MemorySnapshot([], captured=["*"]), "alice"))
        0
        """
        from simkit.analysis.escalation.prove.risky_permissions import risky_permissions

        return risky_permissions(self.snapshot(), subject, sandbox=self, members=members)
