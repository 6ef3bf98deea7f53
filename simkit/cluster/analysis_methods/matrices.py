"""Access as tables of yes and no. Written by tools/write_analysis_methods.py out of simkit.analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simkit.cluster.analysis_methods.analysed_cluster import AnalysedCluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from simkit.analysis.rbac.subject import Members
    from simkit.logic.rbac.binding import Subject


class MatricesMethods(AnalysedCluster):
    """Access as tables of yes and no."""

    def access_matrix(
        self,
        subjects: Subject | str | Iterable[Subject | str] | None = None,
        *,
        resources: str | Iterable[str] | None = None,
        verbs: str | Iterable[str] = (
            "get",
            "list",
            "watch",
            "create",
            "update",
            "patch",
            "delete",
            "deletecollection",
        ),
        namespaces: Sequence[str] | None = None,
        members: Members | None = None,
    ) -> pd.DataFrame:
        """The permissions of all subjects for each resource in each namespace.

        Parameters
        ----------
        subjects
            Whom to ask about; left out: every user, service account and group that is known.
        resources
            Words for resources, as for ``who_can``; left out: every resource of the release, custom ones included.
        verbs
            The verbs, one column each.
        namespaces
            Where; left out: everywhere. Then what somebody may do in a namespace stands in the row of that namespace if
            there is one, and else in the row of ``*``: namespaces have rows only where they differ.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        DataFrame
            One row per subject, namespace and resource with at least one yes: subject (``sa:ns/name``); namespace (``*``
            for all of them at once, and for resources that are in none); resource (``deployments.apps``); one boolean
            column per verb, what ``can`` says of requests that name no object; bindings, those that allow any of it, as a
            tuple of texts (``RoleBinding dev/readers``). The first three columns are categories: a million rows stay small.

        Raises
        ------
        UnknownResource, SimkitError
            For words that name nothing, with near ones.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        O(grants of the subjects and their groups + rows). Rights for single names and URLs are not in it: see
        ``permissions``.

        Examples
        --------
        >>> from simkit.analysis import access_matrix
        >>> from simkit.snapshot.memory import MemorySnapshot
        >>> empty = MemorySnapshot([], captured=["*"])
        >>> found = access_matrix(empty, "group:system:masters", resources=["pods"], verbs=["get"])
        >>> found.values.tolist()
        [['group:system:masters', '*', 'pods', True, ('(no binding)',)]]
        """
        from simkit.analysis.access.matrix import access_matrix

        return access_matrix(
            self.snapshot(), subjects, resources=resources, verbs=verbs, namespaces=namespaces, members=members
        )

    def resource_matrix(
        self,
        subject: Subject | str,
        *,
        resources: str | Iterable[str] | None = None,
        verbs: str | Iterable[str] = (
            "get",
            "list",
            "watch",
            "create",
            "update",
            "patch",
            "delete",
            "deletecollection",
        ),
        namespace: str | None = None,
        members: Members | None = None,
    ) -> pd.DataFrame:
        """The verbs that a subject may use on each resource.

        Parameters
        ----------
        resources
            Words for resources; left out: every resource of the release, custom ones included.
        namespace
            Where; None: in all namespaces at once.
        subject
            As for ``can``.
        verbs
            The verbs, one column each.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        DataFrame
            One row per resource (``deployments.apps``), one column per verb, booleans: what ``can`` says.

        Raises
        ------
        UnknownResource, SimkitError
            For words that name nothing, with near ones.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Notes
        -----
        One decision per field, a few microseconds each.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.resource_matrix("group:system:masters", resources=["pods"], verbs=["get", "delete"]).values.tolist()
        [[True, True]]
        """
        from simkit.analysis.access.matrix import resource_matrix

        return resource_matrix(
            self.snapshot(), subject, resources=resources, verbs=verbs, namespace=namespace, members=members
        )

    def subject_matrix(
        self,
        resource: str,
        *,
        subjects: Subject | str | Iterable[Subject | str] | None = None,
        verbs: str | Iterable[str] = (
            "get",
            "list",
            "watch",
            "create",
            "update",
            "patch",
            "delete",
            "deletecollection",
        ),
        name: str = "",
        namespace: str | None = None,
        members: Members | None = None,
    ) -> pd.DataFrame:
        """The verbs that each subject may use on one resource.

        Parameters
        ----------
        subjects
            Whom to ask about; left out: every user and service account that is known.
        resource, name
            What, as for ``who_can``.
        verbs
            The verbs, one column each.
        namespace
            Where; None: in all namespaces at once.
        members
            Groups that the cluster does not keep, as for ``who_can``.

        Returns
        -------
        DataFrame
            One row per subject (``sa:ns/name``), one column per verb, booleans: what ``can`` says. With ``subjects`` left
            out, those who may do nothing are not shown.

        Raises
        ------
        UnknownResource, SimkitError
            For words that name nothing, with near ones.
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> cluster.subject_matrix("pods", subjects=["user:ann"], verbs=["get"]).loc["user:ann", "get"]
        np.False_
        """
        from simkit.analysis.access.matrix import subject_matrix

        return subject_matrix(
            self.snapshot(), resource, subjects=subjects, verbs=verbs, name=name, namespace=namespace, members=members
        )
