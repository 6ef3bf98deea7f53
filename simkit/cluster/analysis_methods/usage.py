"""Questions about access in use, and unused access. Written by tools/write_analysis_methods.py out of simkit.analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simkit.cluster.analysis_methods.analysed_cluster import AnalysedCluster

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from simkit.analysis.audit_log.events import AuditLog
    from simkit.analysis.least_privilege.proposal import Proposal
    from simkit.analysis.least_privilege.recorded_access import AccessRequest
    from simkit.analysis.least_privilege.roles import Names
    from simkit.analysis.least_privilege.usage import Usage
    from simkit.analysis.upgrade.removal_report import RemovalReport
    from simkit.analysis.upgrade.requests import Metrics
    from simkit.analysis.upgrade.upgrade_report import UpgradeReport
    from simkit.logic.lifecycle import History
    from simkit.logic.rbac.binding import Subject
    from simkit.snapshot.protocol import Sandbox, Snapshot
    from simkit.snapshot.sources import Source


class UsageMethods(AnalysedCluster):
    """Questions about access in use, and unused access."""

    def usage(self, audit_log: AuditLog | Iterable[AccessRequest]) -> Usage:
        """The access that a log shows in use, by the subjects that bindings of the snapshot name.

        Parameters
        ----------
        audit_log
            See ``read_access_requests``; or uses that were read before.

        Returns
        -------
        Usage
            ``.to_frame()`` has one row per subject and action: subject, action, namespace, times.

        Raises
        ------
        SimkitError
            For an audit log that is not there.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        O(events + different requests x bindings of their subject).

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> log = [{"kind": "Event", "verb": "get", "requestURI": "/version", "user": {"username": "ann"}}]
        >>> len(cluster.usage(log))
        0
        """
        from simkit.analysis.least_privilege.usage import usage

        return usage(self.snapshot(), audit_log)

    def unused_grants(self, used: Usage) -> pd.DataFrame:
        """The permissions that the bindings of a snapshot grant and a log does not show in use.

        Parameters
        ----------
        used
            What is in use, as ``usage`` tells it.

        Returns
        -------
        DataFrame
            One row per subject, binding and rule that is not used in full: verdict (``unused grant``: nothing of the
            binding; ``unused rule``; ``unused part``; ``wildcard``: used, but by a few of the things that a ``*`` stands
            for); subject; scope; binding_kind, binding, role_kind, role, rule; granted,
            used, unused, as ``verb resource.group`` each. The server's default bindings are not listed.

        Raises
        ------
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> log = [{"kind": "Event", "verb": "get", "requestURI": "/version", "user": {"username": "ann"}}]
        >>> len(cluster.unused_grants(cluster.usage(log)))
        0
        """
        from simkit.analysis.least_privilege.unused import unused_grants

        return unused_grants(self.snapshot(), used)

    def refused_requests(self, audit_log: AuditLog, *, before: Snapshot | Sandbox) -> pd.DataFrame:
        """The requests of an audit log that were allowed before a change and are refused after it.

        Parameters
        ----------
        before
            The earlier cluster or snapshot.
        audit_log
            What was asked: see ``read_access_requests``.

        Returns
        -------
        DataFrame
            One row per subject and action, the most frequent first: subject, action (``get secrets db``), namespace, times.

        Raises
        ------
        SimkitError
            For an audit log that is not there, and what is neither a cluster nor a snapshot.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        A request counts by the access control of both snapshots: one that no binding of ``before`` allows is left out.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> log = [{"kind": "Event", "verb": "get", "requestURI": "/version", "user": {"username": "ann"}}]
        >>> len(cluster.refused_requests(log, before=cluster))
        0
        """
        from simkit.analysis.least_privilege.refused_requests import refused_requests

        return refused_requests(before, self.snapshot(), audit_log)

    def least_privilege(
        self,
        audit_log: AuditLog,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        *,
        names: Names = "repeated",
        reuse: bool = True,
    ) -> Proposal:
        """Roles and bindings that allow the subjects what a log shows in use, and nothing else.

        Parameters
        ----------
        audit_log
            See ``read_access_requests``.
        subject
            For whom: one or several; None for all whose access was used, without the server's own users and groups.
        names
            Whether rules name objects: see ``minimal_rules``.
        reuse
            Whether roles that are used in full stay, and roles that allow just what is wanted are bound, instead of new
            ones made.

        Returns
        -------
        Proposal
            ``.to_frame()`` has one row per subject: subject, before and after (numbers of permissions), roles, reused, new;
            ``.manifests()`` are the objects to apply, ``.verify()`` tries them on a fork.

        Raises
        ------
        SimkitError
            For an audit log that is not there, and a text that is no subject.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        What was not asked for while the log was written is taken away: a log should cover rare work too.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> log = [{"kind": "Event", "verb": "get", "requestURI": "/version", "user": {"username": "ann"}}]
        >>> len(cluster.least_privilege(log))
        0
        """
        from simkit.analysis.least_privilege.proposal import least_privilege

        return least_privilege(self.snapshot(), audit_log, subject, names=names, reuse=reuse, sandbox=self)

    def removal_report(
        self, *elements: str, release: str | None = None, audit_log: AuditLog | None = None
    ) -> RemovalReport:
        """Report everything that uses API versions which a cluster no longer serves, or which another release removes.

        Parameters
        ----------
        elements
            Versions (``flowcontrol.apiserver.<domain>/v1beta3``), groups or resources of versions to disable. Of those
            that an earlier release removed, the report lists what is still written in them and who asks for them. A single
            release, ``1.32``, is the same as ``release="1.32"``.
        release
            The release to upgrade to, instead of elements.
        audit_log
            Recorded requests; without them callers are not known. Those for removed versions are sent again to two
            forks: as the cluster is, and after the change.

        Returns
        -------
        RemovalReport
            ``summary()`` counts what was found; the DataFrames list it.

        Raises
        ------
        SimkitError
            Where neither elements nor a release are given, or both, or where neither the release nor an earlier
            one serves an element.

        Notes
        -----
        The cluster is not changed: recorded writes are executed on forks alone. O(size of the snapshot + recorded
        requests).

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.removal_report(release="1.32").has_impact
        False
        """
        from simkit.analysis.upgrade.removal_report import removal_report

        return removal_report(self, *elements, release=release, audit_log=audit_log)

    def upgrade_report(
        self,
        to: str,
        *,
        since: str | None = None,
        audit_log: AuditLog | None = None,
        metrics: Metrics | None = None,
        manifests: Source | None = None,
        validate: bool = False,
    ) -> UpgradeReport:
        """Report what an upgrade to a later release breaks, where, for whom, and what to do.

        Parameters
        ----------
        to
            The release to upgrade to.
        since
            The release to upgrade from; None: the snapshot's own. An empty text: not known; then everything
            is reported that the target does not have any more.
        audit_log
            Recorded requests; without them callers are not known.
        metrics
            The answer of ``/metrics`` of a kube-apiserver, as text or a path: it tells which deprecated versions are asked
            for, not by whom.
        manifests
            Files, folders, charts as rendered, texts or objects that are applied to the cluster beside what it holds.
        validate
            Whether to create every object as a trial on forks at both releases, to find what only the later one refuses.

        Returns
        -------
        UpgradeReport
            ``to_frame()`` has one row per finding: release (the first that has the change), severity, breaks (False for
            what is only worth knowing), check, what, where, who, evidence, remedy, source, api_version, kind, namespace,
            name, field, file, line. ``summary()`` counts them.

        Raises
        ------
        SimkitError
            For an unknown release; the message names the newest known one. For a way back.

        Notes
        -----
        Evidence is ordered: field managers before what was applied last, requests with counts before what may be. What is
        known of releases are the tables under ``datasets``. O(size of the objects + recorded requests).

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(release="1.23", seed=1)
        >>> pod = {"containers": [{"name": "a", "image": "a"}], "nodeSelector": {"node-role.kubernetes.io/master": ""}}
        >>> obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": pod}
        >>> report = cluster.upgrade_report("1.24", manifests=obj)
        >>> report.breaks()["where"].tolist()
        ['Pod probe spec.nodeSelector[node-role.kubernetes.io/master]']
        """
        from simkit.analysis.upgrade.upgrade_report import upgrade_report

        return upgrade_report(
            self.snapshot(),
            to,
            since=since,
            audit_log=audit_log,
            metrics=metrics,
            manifests=manifests,
            validate=validate,
            sandbox=self,
        )

    def timeline(
        self,
        api_groups: Iterable[str] | None = None,
        *,
        kinds: Iterable[str] = (),
        history: History | None = None,
        audit_log: AuditLog | None = None,
    ) -> pd.DataFrame:
        """The phases of versions.

        Parameters
        ----------
        api_groups
            Only these groups; None: all of them.
        kinds
            Only these kinds; none: all of them.
        history
            Whose versions; None: those of Kubernetes.
        audit_log
            An audit log in which to count who calls a version.

        Returns
        -------
        DataFrame
            One row per version and phase: lane, api_version, kind, phase (alpha, beta, stable, deprecated), first (release
            of its beginning), until (the first release that no longer has it; empty: no end in sight), start and end
            (days; the latest day of the table where there is no end), objects and callers (None where not asked).

        Raises
        ------
        SimkitError
            For an audit log that is not there.

        Examples
        --------
        >>> from simkit.analysis import timeline
        >>> timeline(["batch"], kinds=["CronJob"])[["api_version", "phase", "first", "until"]].values.tolist()[:2]
        [['batch/v1beta1', 'beta', '1.8', '1.21'], ['batch/v1beta1', 'deprecated', '1.21', '1.25']]
        """
        from simkit.analysis.upgrade.timeline import timeline

        return timeline(api_groups, kinds=kinds, history=history, snapshot=self.snapshot(), audit_log=audit_log)
