"""AnalysisMethods about who may do what. Written by tools/write_analysis_methods.py out of simkit.analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simkit.cluster.analysis_methods.analysed_cluster import AnalysedCluster

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pandas as pd

    from simkit.analysis.access.can import AccessDecision
    from simkit.analysis.access.expectations import Outcomes, Suite
    from simkit.analysis.rbac.subject import Members
    from simkit.logic.rbac.binding import Subject
    from simkit.meta.identity import Identity
    from simkit.snapshot.protocol import Sandbox, Snapshot


class AccessMethods(AnalysedCluster):
    """AnalysisMethods about who may do what."""

    def who_can(
        self,
        verb: str,
        resource: str = "",
        *,
        subresource: str = "",
        name: str | None = "",
        namespace: str | None = None,
        url: str = "",
        api_group: str | None = None,
        expand_groups: bool = False,
        members: Members | None = None,
        max_hops: int | None = None,
    ) -> pd.DataFrame:
        """Every subject that may do something, with the binding, role and rule that allow it.

        Parameters
        ----------
        verb
            A verb of requests, or one that the server asks about by itself: bind, escalate, impersonate, use, approve,
            sign, attest.
        resource
            Plural, singular, short name or kind, with group or subresource if wanted: ``pods``, ``po``,
            ``deployments.apps``, ``pods/log``. For the special verbs also users, groups, uids, userextras/KEY, signers.
        subresource
            The same as behind the slash of ``resource``.
        name
            The name of one object. Empty: requests without a name, so that grants for single names do not count. None: any
            object, even if only one; the column ``names`` tells which.
        namespace
            Where. None: in any namespace or in all; ``*``: only in the whole cluster. It has no meaning for resources
            without a namespace and is not looked at there. A namespace that does not exist gets a warning.
        url
            A path that is no resource, instead of a resource: ``/metrics``.
        api_group
            The API group. With it the question is taken as it is written, as in an access review: any resource and verb,
            and the namespace also for resources that have none.
        expand_groups, members
            Whether to list, after each group, the subjects known to be in it: by the server's rules, and by the table
            ``members`` of groups that an identity provider keeps.
        max_hops
            Also list subjects that can get the permission with at most this number of escalation steps.

        Returns
        -------
        DataFrame
            One row per subject and grant: subject (``sa:ns/name``); via_group, the group (``group:devs``) by which an
            expanded row has it; scope (a namespace, or ``*`` for everywhere); binding_kind, binding; role_kind, role;
            rule, the index of the rule in the role; names, the only objects it holds for (empty: all). Members of
            ``system:masters`` come first: no binding lets them, no binding can stop them. With ``max_hops`` also hops (0
            for whom a binding lets at once) and path, the ids of the primitives on the shortest way; rows with hops name
            no binding.

        Raises
        ------
        UnknownResource, SimkitError
            For words that name nothing, with near ones.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        The answers are the authorizer's own: a subject is in the table exactly if a request of it, or of some member of
        the group, would be allowed by access control. O(distinct rule lists that name the resource, plus rows); asked again
        of the same snapshot, O(rows).

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.who_can("escalate", "roles")[["subject", "binding"]].values.tolist()
        [['group:system:masters', '(no binding)'], ['group:system:masters', 'cluster-admin']]
        """
        from simkit.analysis.access.who_can import who_can

        return who_can(
            self.snapshot(),
            verb,
            resource,
            subresource=subresource,
            name=name,
            namespace=namespace,
            url=url,
            api_group=api_group,
            expand_groups=expand_groups,
            members=members,
            max_hops=max_hops,
        )

    def can(
        self,
        subject: Subject | Identity | str,
        verb: str,
        resource: str = "",
        *,
        subresource: str = "",
        name: str = "",
        namespace: str | None = None,
        url: str = "",
        api_group: str | None = None,
        groups: Iterable[str] = (),
        members: Members | None = None,
    ) -> AccessDecision:
        """The decision whether a subject may do something, with the evidence or the near misses.

        Parameters
        ----------
        subject
            ``alice``, ``user:alice``, ``group:devs`` (some member of it), ``sa:ns/name`` or a ``Subject``. The groups
            that the server adds by itself count. An ``Identity`` has just the groups that it has, as in an access review.
        verb, resource, subresource, name, url, api_group
            As for ``who_can``; an empty name is a request that names no object.
        namespace
            Where; None: in all namespaces at once. It has no effect for resources without a namespace,
            unless ``api_group`` is given, as in access reviews.
        groups, members
            Further groups of the subject, which an identity provider keeps: by name, or as a table of their members.

        Returns
        -------
        AccessDecision
            True in a condition if allowed; printed, it explains itself.

        Raises
        ------
        UnknownResource, SimkitError
            For words that name nothing, with near ones, for an empty namespace, and for ``groups`` as one text.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        The decision is the one of the access control authorizer, preceded by that for ``system:masters``. O(bindings that
        name the subject or its groups).

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> bool(cluster.can("user:ann", "delete", "nodes")), bool(cluster.can("group:system:masters", "delete", "nodes"))
        (False, True)
        """
        from simkit.analysis.access.can import can

        return can(
            self.snapshot(),
            subject,
            verb,
            resource,
            subresource=subresource,
            name=name,
            namespace=namespace,
            url=url,
            api_group=api_group,
            groups=groups,
            members=members,
        )

    def permissions(
        self, subject: Subject | str, *, namespace: str | None = None, members: Members | None = None
    ) -> pd.DataFrame:
        """All rules that a subject has, its own or a group's.

        Parameters
        ----------
        subject
            ``alice``, ``group:devs``, ``sa:ns/name`` or a ``Subject``.
        namespace
            Only the rules that hold in this namespace, those for everywhere among them; left out: in any.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        DataFrame
            One row per grant and rule: scope (a namespace, or ``*`` for everywhere); verbs, api_groups, resources,
            resource_names, urls as tuples; effective, False for a rule that does nothing where it is bound (URLs and
            resources without a namespace in a RoleBinding); via_group, the group (``group:devs``) that has it, empty where
            a binding names the subject itself; binding_kind, binding, role_kind, role, rule. A binding whose role is
            missing has one row with rule -1.
            Members of ``system:masters`` have a row for that.

        Raises
        ------
        SimkitError
            For a text that names no subject, and an empty namespace.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        O(rules of the grants of the subject and its groups).

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.permissions("user:ann").loc[0, ["scope", "verbs", "binding"]].tolist()
        ['*', ('create',), 'system:basic-user']
        """
        from simkit.analysis.access.permissions import permissions

        return permissions(self.snapshot(), subject, namespace=namespace, members=members)

    def compare(
        self,
        *,
        before: Snapshot | Sandbox,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        namespace: str | None = None,
    ) -> pd.DataFrame:
        """The permissions that subjects gained and lost.

        What is compared is access, not objects: a permission that comes by another binding or another role than before,
        or that a wider one includes, has not changed.

        Parameters
        ----------
        before
            The earlier cluster or snapshot: ``simkit.load("before.yaml")``, ``cluster.at(7)``.
        subject
            Only these subjects; left out: all.
        namespace
            Only changes that count in this namespace, those for everywhere among them; left out: all.

        Returns
        -------
        DataFrame
            One row per change (``gained`` or ``lost``), subject and single permission: change, subject, scope
            (a namespace, or ``*``), verb, api_group, resource, name (empty: all), url; bindings, by which it has or had
            it, as a tuple of texts (``RoleBinding dev/readers``).

        Raises
        ------
        SimkitError
            For an empty namespace, a text that is no subject, and what is neither a cluster nor a snapshot.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        Subjects are compared by the bindings that name them, not by those which name their groups: a group's change is the
        group's row. Wildcards are kept: who gained ``*`` has one row for it. O(changed subjects x their rules squared).

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> before = cluster.snapshot()
        >>> _ = cluster.delete("clusterrolebinding", "cluster-admin")
        >>> list(cluster.compare(before=before)["change"])
        ['lost', 'lost']
        """
        from simkit.analysis.access.compare import compare

        return compare(before, self.snapshot(), subject=subject, namespace=namespace)

    def check(self, suite: Suite | str | Path) -> Outcomes:
        """The outcome of every expectation, in order. Raises IncompleteSnapshot where roles or bindings are missing.

        Parameters
        ----------
        suite
            What ``read_suite`` reads, or the path of such a file.

        Returns
        -------
        Outcomes
            One outcome per expectation, in order; ``.passed`` tells whether all are met.

        Raises
        ------
        SimkitError
            Where the file is no suite, or an expectation names what is not there.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> from simkit.analysis import Suite
        >>> nobody = {"verb": ["get"], "resource": "secrets", "allowed": ["sa:kube-system/*", "user:system:*"]}
        >>> cluster.check(Suite(expectations=[{"name": "secrets are kept", "nobody": nobody}])).passed
        True
        """
        from simkit.analysis.access.expectations import check

        return check(self.snapshot(), suite)
