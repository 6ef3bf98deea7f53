"""AnalysisMethods about admission policies and webhooks. Written by tools/write_analysis_methods.py out of simkit.analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simkit.cluster.analysis_methods.analysed_cluster import AnalysedCluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from simkit.analysis.admission.policies import PolicyEffect, Team
    from simkit.meta.identity import Identity
    from simkit.snapshot.sources import Source


class PoliciesMethods(AnalysedCluster):
    """AnalysisMethods about admission policies and webhooks."""

    def policy_effect(
        self,
        policies: Source | None = None,
        *,
        team: str | Team = "team",
        operations: Sequence[str] = ("CREATE", "UPDATE"),
        identity: Identity | None = None,
    ) -> PolicyEffect:
        """The effect of policies if every object of the cluster were written again unchanged.

        Parameters
        ----------
        policies
            Manifests of policies that are not in force yet, with their bindings and parameters; policies without any
            binding are bound everywhere, to deny. By default the policies of the cluster itself.
        team
            The label or annotation, of the object or else of its namespace, that names the team; or a function.
        operations
            As what a write counts: the first of these that a policy's rules take.
        identity
            Who writes; an administrator unless given.

        Returns
        -------
        PolicyEffect
            ``.to_frame()`` has one row per object and violation: resource, namespace, name, team, policy, binding, action
            (Deny or Warn), message, reason; ``.prove()`` executes it and gives ``Evidence``.

        Raises
        ------
        SimkitError
            Where there is no policy.

        Notes
        -----
        Some 20 microseconds for an object and expression: a cluster of ten thousand pods takes a second.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> policy = {
        ...     "apiVersion": "admissionregistration.k8s.io/v1",
        ...     "kind": "ValidatingAdmissionPolicy",
        ...     "metadata": {"name": "small"},
        ...     "spec": {
        ...         "matchConstraints": {
        ...             "resourceRules": [
        ...                 {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["namespaces"]}
        ...             ]
        ...         },
        ...         "validations": [{"expression": "size(object.metadata.name) < 8"}],
        ...     },
        ... }
        >>> len(cluster.policy_effect(policy))
        3
        """
        from simkit.analysis.admission.policies import policy_effect

        return policy_effect(
            self.snapshot(), policies, team=team, operations=operations, identity=identity, sandbox=self
        )

    def policy_coverage(self, policies: Source | None = None) -> pd.DataFrame:
        """The objects that each policy would match if they were written again.

        Parameters
        ----------
        policies
            Manifests of policies and bindings to look at instead of the snapshot's own.

        Returns
        -------
        DataFrame
            One row per policy, binding and object: policy, binding, actions, resource, namespace, name. Match conditions
            are not looked at, since they may depend on who writes.

        Raises
        ------
        SimkitError
            Where there is no policy.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> from simkit.meta.errors import SimkitError
        >>> try:
        ...     cluster.policy_coverage()
        ... except SimkitError as error:
        ...     print(error)
        there is no ValidatingAdmissionPolicy in the snapshot
        """
        from simkit.analysis.admission.policies import policy_coverage

        return policy_coverage(self.snapshot(), policies)

    def webhook_coverage(self) -> pd.DataFrame:
        """The objects that each webhook would be called for if they were written again.

        Returns
        -------
        DataFrame
            One row per webhook and object: kind and name of the configuration, webhook, on_failure (``Fail``: without an
            answer of the webhook the object cannot be written; or ``Ignore``), target (its service or URL), resource,
            namespace, name. Match conditions are not looked at, since they may depend on who writes.

        Raises
        ------
        SimkitError
            For a webhook that cannot be read.

        Notes
        -----
        O(webhooks x objects of the kinds that they name).

        Examples
        --------
        >>> from simkit.analysis import webhook_coverage
        >>> from simkit.snapshot.memory import MemorySnapshot
        >>> list(webhook_coverage(MemorySnapshot([])).columns)[:3]
        ['kind', 'configuration', 'webhook']
        """
        from simkit.analysis.admission.webhooks import webhook_coverage

        return webhook_coverage(self.snapshot())

    def expression_costs(self) -> pd.DataFrame:
        """Every expression of policies, webhooks and custom resources with its cost.

        Returns
        -------
        DataFrame
            One row per expression: kind, object and path (where it stands), expression; least and most (the estimate in
            the language's units, with the variables that it uses; None for most where nothing bounds it); measured and
            runs (the greatest cost over so many objects of the snapshot, for policies that are in force); error (why it
            does not compile). Most expensive first.

        Raises
        ------
        SimkitError
            For a policy that cannot be read.

        Examples
        --------
        >>> import simkit
        >>> cluster = simkit.Cluster(seed=1)
        >>> len(cluster.expression_costs())
        0
        """
        from simkit.analysis.admission.expression_costs import expression_costs

        return expression_costs(self.snapshot())
