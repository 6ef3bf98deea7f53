"""Nodes that are drained, and nodes that are lost.

Upstream: staging/src/k8s.io/kubectl/pkg/drain, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.analysis.operations.observation import NODES, Observation, OperationSandbox, owner_of, uid_of
from simkit.analysis.operations.result import Operation
from simkit.logic.workloads.pods import has_ended
from simkit.meta.domain import MIRROR_POD, label
from simkit.meta.duration import seconds
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, annotations_of, labels_of, metadata, name_of, namespace_of
from simkit.seams.snapshot import Snapshot

_ZONE: Final = label("zone", "topology")
_MERGE: Final = "application/merge-patch+json"
_RETRY: Final = 5.0


def drain_nodes(
    sandbox: OperationSandbox,
    nodes: str | Sequence[str] = (),
    *,
    zone: str = "",
    timeout: str = "10m",
    ready_after: str = "10s",
) -> Operation:
    """The effects of draining nodes: evicted pods, what a disruption budget blocks, and what stays pending and why.

    Parameters
    ----------
    sandbox
        The cluster on whose fork it is done.
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
    observed = Observation(sandbox.rehearsal(settings={"ready-after": ready_after}))
    names = named_nodes(observed.snapshot, nodes, zone)
    for name in names:
        cordon = {"spec": {"unschedulable": True}}
        observed.demand(observed.send("PATCH", f"/api/v1/nodes/{name}", cordon, content_type=_MERGE))
    touched: dict[str, str] = {}
    complete = True
    for name in names:
        complete = _drain(observed, name, touched, seconds(timeout)) and complete
    observed.wait_for(lambda: not observed.unsettled(), 2 * seconds(ready_after) + 60.0, _RETRY)
    where = f"zone {zone}" if zone else ", ".join(names)
    return observed.result(f"drain of {where}", touched, complete=complete)


def _drain(observed: Observation, node: str, touched: dict[str, str], limit: float) -> bool:
    """Evict the pods of one node until all are gone; False if that takes too long."""

    def is_empty() -> bool:
        left = False
        for pod in observed.pods_on([node]):
            uid = uid_of(pod)
            stays = owner_of(pod).get("kind") == "DaemonSet" or MIRROR_POD in annotations_of(pod)
            touched.setdefault(uid, "kept" if stays else "evicted")
            if stays or has_ended(pod):
                continue
            left = True
            if not metadata(pod).get("deletionTimestamp"):
                _evict(observed, pod)
        return not left

    return observed.wait_for(is_empty, limit, _RETRY)


def _evict(observed: Observation, pod: Object) -> None:
    """Ask for an eviction; a disruption budget may refuse it for now."""
    path = f"/api/v1/namespaces/{namespace_of(pod)}/pods/{name_of(pod)}/eviction"
    meta = {"name": name_of(pod), "namespace": namespace_of(pod)}
    answer = observed.send("POST", path, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta})
    uid = uid_of(pod)
    if answer.succeeded or answer.status == 404:
        observed.blocked.pop(uid, None)
    else:
        details = (answer.object or {}).get("details") or {}
        causes = [each.get("message", "") for each in details.get("causes") or ()]
        observed.blocked[uid] = causes[0] if causes else str((answer.object or {}).get("message", answer.status))


def lose_nodes(
    sandbox: OperationSandbox,
    nodes: str | Sequence[str] = (),
    *,
    zone: str = "",
    minutes: float = 10,
    ready_after: str = "10s",
) -> Operation:
    """The effects of machines that fail: when nodes are noticed to be gone, their pods are deleted and replaced.

    Parameters
    ----------
    sandbox
        The cluster on whose fork it is done.
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
    observed = Observation(sandbox.rehearsal(settings={"ready-after": ready_after}))
    names = named_nodes(observed.snapshot, nodes, zone)
    touched = {}
    for pod in observed.pods_on(names):
        stays = owner_of(pod).get("kind") == "DaemonSet" or MIRROR_POD in annotations_of(pod)
        touched[uid_of(pod)] = "kept" if stays else "lost"
    for name in names:
        observed.cluster.stop_node(name)
    end = minutes * 60
    while observed.seconds < end:
        observed.wait(min(20.0, end - observed.seconds))
    where = f"zone {zone}" if zone else ", ".join(names)
    return observed.result(f"loss of {where}", touched, complete=True)


def named_nodes(snapshot: Snapshot, nodes: str | Sequence[str], zone: str) -> list[str]:
    """The names of nodes, or of those of a zone. Raises SimkitError for what is not there."""
    known = {name_of(each): labels_of(each) for each in snapshot.scan(NODES)}
    wanted = [nodes] if isinstance(nodes, str) else list(nodes)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SimkitError(f"no node {unknown[0]!r}; there are {', '.join(sorted(known)[:10]) or 'none'}")
    if zone:
        wanted += [name for name, labels in known.items() if labels.get(_ZONE) == zone and name not in wanted]
    if not wanted:
        zones = sorted({labels[_ZONE] for labels in known.values() if _ZONE in labels})
        raise SimkitError(f"name a node, or a zone with nodes; the zones are {', '.join(zones) or 'not set'}")
    return wanted
