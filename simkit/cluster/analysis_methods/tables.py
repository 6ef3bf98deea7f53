"""The objects of access control as tables and as a graph. Written by tools/write_analysis_methods.py out of simkit.analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simkit.cluster.analysis_methods.analysed_cluster import AnalysedCluster

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from simkit.analysis.membership.pairs import MembershipTable


class TablesMethods(AnalysedCluster):
    """The objects of access control as tables and as a graph."""

    def subjects(self) -> pd.DataFrame:
        """All known subjects: service accounts, and subjects of bindings.

        Returns
        -------
        DataFrame
            One row per subject: subject (``sa:ns/name``); exists (False for a service account that
            bindings name and nobody made; None for users and groups, which the cluster does not keep, and for service
            accounts when they were not captured); bindings and cluster_wide, the number of bindings and of cluster-wide
            ones that name the subject itself.

        Raises
        ------
        IncompleteSnapshot
            Where bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.subjects()["subject"].tolist()[0]
        'group:system:authenticated'
        """
        from simkit.analysis.rbac.tables import subjects

        return subjects(self.snapshot())

    def bindings(self) -> pd.DataFrame:
        """The bindings with their subjects and roles.

        Returns
        -------
        DataFrame
            One row per binding and subject: binding_kind, namespace (empty: cluster-wide), binding, role_kind, role,
            role_exists, subject. A binding without subjects has one row whose subject is empty.

        Raises
        ------
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.bindings().query("binding == 'cluster-admin'")["subject"].tolist()
        ['group:system:masters']
        """
        from simkit.analysis.rbac.tables import bindings

        return bindings(self.snapshot())

    def roles(self) -> pd.DataFrame:
        """All roles.

        Returns
        -------
        DataFrame
            One row per role: role_kind, namespace, role, rules (their number), aggregated (its rules are collected from
            other roles), bootstrap (it carries the label of the server's own defaults), bindings (how many name it).

        Raises
        ------
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.roles().query("role == 'view'")["aggregated"].tolist()
        [True]
        """
        from simkit.analysis.rbac.tables import roles

        return roles(self.snapshot())

    def rules(self) -> pd.DataFrame:
        """All rules of all roles.

        Returns
        -------
        DataFrame
            One row per rule: role_kind, namespace, role, rule (its index in the role), and verbs, api_groups, resources,
            resource_names and urls as tuples of strings.

        Raises
        ------
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.rules().query("role == 'cluster-admin'")["verbs"].tolist()
        [('*',), ('*',)]
        """
        from simkit.analysis.rbac.tables import rules

        return rules(self.snapshot())

    def access_graph(self, *, rules: bool = True) -> nx.MultiDiGraph[str]:
        """The RBAC objects of a snapshot as a networkx graph.

        Parameters
        ----------
        rules
            Whether the rules are nodes too; without them the graph ends at the roles.

        Returns
        -------
        MultiDiGraph
            Nodes are texts, as in tables: subjects (``sa:ci/runner``), bindings (``RoleBinding ci/runners``), roles
            (``ClusterRole view``) and rules (``ClusterRole view rule 0``). Each has ``layer`` (subject, binding, role or
            rule) and ``text``, what to show; all but rules have ``kind``, ``name`` and ``namespace``, roles ``exists``,
            rules their ``rule``. Edges go subject to binding (``relation`` "named by"), binding to role ("refers to") and
            role to rule ("holds").

        Raises
        ------
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        O(subjects of all bindings + rules of all roles). Implied groups are not drawn: who belongs to
        ``system:authenticated`` is everybody.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> graph = cluster.access_graph(rules=False)
        >>> list(graph.successors("group:system:masters"))
        ['ClusterRoleBinding cluster-admin']
        """
        from simkit.analysis.rbac.graph import access_graph

        return access_graph(self.snapshot(), rules=rules)

    def members_of_snapshot(self) -> MembershipTable:
        """The members of groups according to captured objects of the cluster.

        These are: requests for certificates, which tell the groups of who asked; the config map ``aws-auth`` (of a dump
        with the values of config maps); and the groups that OpenShift keeps.

        Returns
        -------
        MembershipTable
            Group name to subjects, as the argument ``members`` of all questions takes it.

        Raises
        ------
        YAMLError
            Where the config map ``aws-auth`` holds no YAML.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.members_of_snapshot()
        {}
        """
        from simkit.analysis.membership.cluster import members_of_snapshot

        return members_of_snapshot(self.snapshot())
