"""Rehearsals of operations, on forks with simulated nodes. Written by tools/write_analysis_methods.py out of simkit.analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simkit.cluster.analysis_methods.analysed_cluster import AnalysedCluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simkit.analysis.operations.result import Operation
    from simkit.meta.objects import Object


class OperationsMethods(AnalysedCluster):
    """Rehearsals of operations, on forks with simulated nodes."""

    def drain_nodes(
        self, nodes: str | Sequence[str] = (), *, zone: str = "", timeout: str = "10m", ready_after: str = "10s"
    ) -> Operation:
        """The effects of draining nodes: evicted pods, what a disruption budget blocks, and what stays pending and why.

        Parameters
        ----------
        nodes
            Names of nodes, drained one after the other; all are cordoned first.
        zone
            A zone whose nodes are drained.
        timeout
            The time for each node, after which it is given up.
        ready_after
            The time from the start of a container until it is ready.

        Returns
        -------
        Operation
            One row per pod of the nodes, and per other pod that is new or no longer runs.

        Raises
        ------
        SimkitError
            For nodes that are not there, and for a zone without nodes.

        Examples
        --------
        >>> from simkit import Cluster
        >>> cluster = Cluster(seed=1)
        >>> added = cluster.add_nodes(2)
        >>> list(cluster.drain_nodes("node-0").summary()["what"])
        ['workloads without a ready pod meanwhile', 'simulated seconds', 'complete']
        """
        from simkit.analysis.operations.nodes import drain_nodes

        return drain_nodes(self, nodes, zone=zone, timeout=timeout, ready_after=ready_after)

    def lose_nodes(
        self, nodes: str | Sequence[str] = (), *, zone: str = "", minutes: float = 10, ready_after: str = "10s"
    ) -> Operation:
        """The effects of machines that fail: when nodes are noticed to be gone, their pods are deleted and replaced.

        Parameters
        ----------
        nodes
            Names of nodes that fail at once.
        zone
            A zone whose nodes fail.
        minutes
            The simulated time that is looked at. A node is noticed after 40 seconds, and most pods tolerate that for five
            minutes.
        ready_after
            The time from the start of a container until it is ready.

        Returns
        -------
        Operation
            One row per pod of the nodes, and per other pod that is new or no longer runs.

        Raises
        ------
        SimkitError
            For nodes that are not there, and for a zone without nodes.

        Examples
        --------
        >>> from simkit import Cluster
        >>> cluster = Cluster(seed=1)
        >>> added = cluster.add_nodes(2, zones=["a", "b"])
        >>> cluster.lose_nodes(zone="a", minutes=1).name
        'loss of zone a'
        """
        from simkit.analysis.operations.nodes import lose_nodes

        return lose_nodes(self, nodes, zone=zone, minutes=minutes, ready_after=ready_after)

    def roll_out(
        self,
        workload: str,
        namespace: str = "default",
        *,
        change: Object | None = None,
        image: str = "",
        timeout: str = "10m",
        ready_after: str = "10s",
    ) -> Operation:
        """The course of a rollout: how many pods are ready meanwhile, and what does not start and why.

        Parameters
        ----------
        workload
            Kind and name: ``deployment/web``, ``statefulset/db``, ``daemonset/agent``.
        namespace
            Its namespace.
        change
            A strategic merge patch of the workload. Without one, and without an image, its pods are restarted. In the
            annotations of the template, ``simkit/ready: "false"`` says that the new pods never become ready.
        image
            The new image of its first container.
        timeout
            The time after which the rollout is given up.
        ready_after
            The time from the start of a container until it is ready.

        Returns
        -------
        Operation
            One row per pod of the workload, old and new.

        Raises
        ------
        SimkitError
            For a workload that is not there, and for a change that the server refuses.

        Examples
        --------
        >>> from simkit import Cluster
        >>> cluster = Cluster(seed=1)
        >>> added = cluster.add_nodes(1)
        >>> labels, containers = {"app": "web"}, [{"name": "web", "image": "web:1"}]
        >>> template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        >>> spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
        >>> web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
        >>> made = cluster.create(web)
        >>> rounds = cluster.settle()
        >>> [each.outcome for each in cluster.roll_out("deployment/web", image="web:2").pods]
        ['moved', 'moved']
        """
        from simkit.analysis.operations.workloads import roll_out

        return roll_out(self, workload, namespace, change=change, image=image, timeout=timeout, ready_after=ready_after)

    def put_under_load(
        self, autoscaler: str, namespace: str = "default", *, cpu: str, minutes: float = 10, ready_after: str = "10s"
    ) -> Operation:
        """The course of autoscaling under a load: how many pods there are, and which of them find no node.

        Parameters
        ----------
        autoscaler
            The name of a HorizontalPodAutoscaler.
        namespace
            Its namespace.
        cpu
            The CPU that all ready pods of its target share, such as ``"12"``.
        minutes
            The simulated time that is looked at.
        ready_after
            The time from the start of a container until it is ready.

        Returns
        -------
        Operation
            One row per pod that is new, or that is gone.

        Raises
        ------
        SimkitError
            For an autoscaler that is not there, whose target has no pods, or that does not scale, with its reason.

        Examples
        --------
        >>> from simkit import Cluster
        >>> cluster = Cluster(seed=1)
        >>> added = cluster.add_nodes(1)
        >>> labels, requests = {"app": "web"}, {"cpu": "2"}
        >>> containers = [{"name": "web", "image": "web:1", "resources": {"requests": requests}}]
        >>> template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        >>> spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
        >>> web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
        >>> target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        >>> limits = {"minReplicas": 1, "maxReplicas": 6, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": target}
        >>> scaler = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": limits}
        >>> made = [cluster.create(each) for each in (web, {"apiVersion": "autoscaling/v1", **scaler})]
        >>> rounds = cluster.settle()
        >>> sorted(each.outcome for each in cluster.put_under_load("web", cpu="8").pods)
        ['pending', 'pending', 'started', 'started']
        """
        from simkit.analysis.operations.workloads import put_under_load

        return put_under_load(self, autoscaler, namespace, cpu=cpu, minutes=minutes, ready_after=ready_after)
