"""Questions of an audit: findings, exposure and reach. Written by tools/write_analysis_methods.py out of simkit.analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simkit.cluster.analysis_methods.analysed_cluster import AnalysedCluster

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from simkit.analysis.causes.cause import Causes
    from simkit.analysis.escalation.find.goal import Goal
    from simkit.analysis.escalation.table.severity import Severity
    from simkit.analysis.findings.audit import Audit, Each
    from simkit.analysis.findings.check import Check
    from simkit.analysis.rbac.subject import Members


class FindingsMethods(AnalysedCluster):
    """Questions of an audit: findings, exposure and reach."""

    def audit(
        self,
        *,
        include_defaults: bool = False,
        checks: Iterable[str] | None = None,
        members: Members | None = None,
        managed: Iterable[str] = (),
        rules: Iterable[Check] = (),
        severity: Severity | str | None = None,
        namespace: str | None = None,
    ) -> Audit:
        """Findings about the access control in a snapshot, for an auditor to look at.

        Parameters
        ----------
        include_defaults
            Whether to look at the server's own roles and bindings too, where they are as it made them.
        checks
            The ids of the checks to make; left out: all.
        members
            Groups that the cluster does not keep, as for ``who_can``.
        managed
            Providers of managed clusters (eks, gke, aks, openshift, or auto) whose own bindings are left out.
        rules
            Your own checks, as ``read_rules`` reads them.
        severity
            Only findings of this severity or a worse one (``high``).
        namespace
            Only findings that count in this namespace; left out: all. A namespace that does not exist gets a warning.

        Returns
        -------
        Audit
            ``.to_frame()`` has one row per finding, ``.summary()`` one per check, ``.skipped`` the checks that could
            not be made, each with the reason; ``len`` is the number of findings.

        Raises
        ------
        IncompleteSnapshot
            Where roles or bindings were not captured. Checks that need something else are listed as skipped.

        Notes
        -----
        O(checks x distinct rule lists + findings).

        Examples
        --------
        >>> from simkit.analysis import audit
        >>> from simkit.snapshot.memory import MemorySnapshot
        >>> audit(MemorySnapshot([], captured=["*"]))
        <Audit: no findings; 0 defaults set aside>
        """
        from simkit.analysis.findings.audit import audit

        return audit(
            self.snapshot(),
            include_defaults=include_defaults,
            checks=checks,
            members=members,
            managed=managed,
            rules=rules,
            severity=severity,
            namespace=namespace,
        )

    def findings(
        self,
        *,
        include_defaults: bool = False,
        checks: Iterable[str] | None = None,
        members: Members | None = None,
        managed: Iterable[str] = (),
        rules: Iterable[Check] = (),
        severity: Severity | str | None = None,
        namespace: str | None = None,
        each: Each = "finding",
    ) -> pd.DataFrame:
        """Findings about the access control in a snapshot as a table: ``audit(...).to_frame()``.

        ``audit`` also tells which checks were skipped, and why.

        Parameters
        ----------
        include_defaults, checks, members, managed, rules, severity, namespace
            As for ``audit``.
        each
            ``subject``: a row for each finding and subject, so that the table joins on the column subject.

        Returns
        -------
        DataFrame
            One row per finding, worst first: severity, check, namespace, subjects (a tuple), binding, role, rules, message,
            fix, command. With ``each="subject"`` the column subject in place of subjects, empty for a finding about no one.

        Raises
        ------
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> from simkit.analysis import findings
        >>> from simkit.snapshot.memory import MemorySnapshot
        >>> len(findings(MemorySnapshot([], captured=["*"])))
        0
        """
        from simkit.analysis.findings.audit import findings

        return findings(
            self.snapshot(),
            include_defaults=include_defaults,
            checks=checks,
            members=members,
            managed=managed,
            rules=rules,
            severity=severity,
            namespace=namespace,
            each=each,
        )

    def causes(
        self,
        *,
        goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
        include_defaults: bool = False,
        members: Members | None = None,
        managed: Iterable[str] = (),
    ) -> Causes:
        """The root causes of findings and escalation paths, those first that should be looked at first.

        A cause is a binding, a role that several bindings give, a namespace without a level of pod security, something
        that is missing, or a service account. Mistakes are told apart from what installed products need for themselves,
        from what is the server's own, and from access that nothing uses.

        Parameters
        ----------
        goal
            What the paths are for: see ``parse_goal``.
        include_defaults
            Whether the server's own roles and bindings are looked at too.
        members
            Groups that the cluster does not keep, as for ``who_can``.
        managed
            Providers of managed clusters whose own bindings count as the server's, as for ``audit``.

        Returns
        -------
        Causes
            ``.to_frame()`` has one row per cause: cause, kind, nature, product, namespace, severity, subjects (number),
            paths, goals (paths to each), through (paths that pass it besides), findings, checks (ids), reaches (places),
            share (of all paths), remedy, command. Each path belongs to the cause that it begins with, and each finding to
            one cause.

        Raises
        ------
        SimkitError
            For a text that is no goal.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        As ``audit`` and ``escalations`` together; O(causes x steps) besides.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> set(cluster.causes().to_frame()["nature"])
        {'server'}
        """
        from simkit.analysis.causes.group import causes

        return causes(self.snapshot(), goal=goal, include_defaults=include_defaults, members=members, managed=managed)

    def exposure(self, *, include_defaults: bool = False, members: Members | None = None) -> pd.DataFrame:
        """The number of subjects that hold each risky permission, by namespace.

        Parameters
        ----------
        include_defaults
            Whether to count what the server's own roles and bindings give.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        DataFrame
            One row per namespace in which somebody holds one by a binding there, after a first row ``*`` for the
            whole cluster; one column per risky permission; numbers of users, groups and service accounts. Limits to
            single names are not looked at.

        Raises
        ------
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> len(cluster.exposure())
        0
        """
        from simkit.analysis.findings.exposure import exposure

        return exposure(self.snapshot(), include_defaults=include_defaults, members=members)

    def reach(self, *, include_defaults: bool = False, members: Members | None = None) -> pd.DataFrame:
        """The subjects, ordered by the severity of what they can do.

        Parameters
        ----------
        include_defaults
            Whether to count what the server's own roles and bindings give.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        DataFrame
            One row per subject that holds a risky permission, those with the longest reach first: subject (``sa:ns/name``);
            cluster_wide, how many it holds in the whole cluster; in_namespaces, how many others
            it holds in at least one namespace; namespaces, how many those are; risky_permissions, their ids.

        Raises
        ------
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> len(cluster.reach())
        0
        """
        from simkit.analysis.findings.exposure import reach

        return reach(self.snapshot(), include_defaults=include_defaults, members=members)
