"""Worlds with devices, and what kube-scheduler made of them: each is repeated on simulated nodes.

A world has ``nodes``, ``objects`` (slices, classes, rules for taints), and ``steps`` in their order. A step makes the
claims or templates of its ``objects`` and a ``pod``, or deletes a pod (``delete``). What kube-scheduler then told is in
``found``: the ``node`` of the pod, or the ``reason`` and the ``message`` of its condition, and the status of all
``claims``, by their names or, for those made for a pod, by that pod and the name there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request
from simkit.meta.objects import at

GATES: Final = {"DRADeviceTaintRules": True}
SERVED: Final = {"resource.k8s.io/v1beta2": True}
_POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
_GENERATED: Final = re.compile(r"\b(p\d+-(?:u\d|extended-resources)-)[a-z0-9]{5}\b")
Obj = dict[str, Any]


class Difference(NamedTuple):
    """A step whose outcome differs: its number, what was recorded, and what came of it here."""

    step: int
    recorded: Obj
    found: Obj


def replay(world: Mapping[str, Any], release: str) -> Iterator[Difference]:
    """The first difference of a world; what comes after one has other causes."""
    cluster = _cluster(world, release)
    for number, step in enumerate(world["steps"]):
        if "found" not in step:
            return
        found = _perform(cluster, step)
        if found != step["found"]:
            yield Difference(number, step["found"], found)
            return


def _cluster(world: Mapping[str, Any], release: str) -> Cluster:
    options = Options(release=release, clock=SimulatedClock(), seed=7, feature_gates=GATES, runtime_config=SERVED)
    cluster = Cluster(options=options)
    for node in world["nodes"]:
        cluster.add_nodes(labels=node["labels"], capacity=node["allocatable"])
    labels = {"resource.kubernetes.io/admin-access": "true"}
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": labels}})
    for each in world["objects"]:
        cluster.create(each)
    cluster.settle()
    return cluster


def _perform(cluster: Cluster, step: Mapping[str, Any]) -> Obj:
    if "delete" in step:
        cluster.perform(Request.of("DELETE", f"/api/v1/namespaces/default/pods/{step['delete']}?gracePeriodSeconds=0"))
        cluster.settle()
        return {"claims": claims_of(cluster.list("resourceclaims.resource.k8s.io"))}
    for each in step["objects"]:
        cluster.create(each)
    pod = step["pod"]
    if step["found"].get("node"):  # of several nodes kube-scheduler takes any of the best
        placed = {**(pod["spec"].get("nodeSelector") or {}), "kubernetes.io/hostname": step["found"]["node"]}
        pod = {**pod, "spec": {**pod["spec"], "nodeSelector": placed}}
    cluster.create(pod)
    cluster.settle()
    claims = cluster.list("resourceclaims.resource.k8s.io")
    pods = [each for each in cluster.list("pods") if each["metadata"]["name"] == pod["metadata"]["name"]]
    return {**(verdict(pods[0]) if pods else {"gone": True}), "claims": claims_of(claims)}


def verdict(pod: Mapping[str, Any]) -> Obj:
    """The node of a pod, or why it has none; and the requests that its extended resources come from."""
    told = at(pod, "status", "extendedResourceClaimStatus", "requestMappings")
    more = {"mappings": told} if told else {}
    if pod["spec"].get("nodeName"):
        return {"node": pod["spec"]["nodeName"], **more}
    condition: Obj = next(
        (each for each in at(pod, "status", "conditions") or () if each["type"] == "PodScheduled"), {}
    )
    if not condition:
        return {"waits": True, **more}
    return {"reason": condition["reason"], "message": _GENERATED.sub(r"\1*", condition["message"]), **more}


def claims_of(claims: Any) -> Obj:
    """The statuses of claims, without what differs from run to run."""
    return dict(sorted((_name(each), _status(each)) for each in claims))


def _name(claim: Mapping[str, Any]) -> str:
    owner = (at(claim, "metadata", "ownerReferences") or [{}])[0].get("name", "")
    annotations = at(claim, "metadata", "annotations") or {}
    return f"{owner}:{annotations.get(_POD_CLAIM, 'extended')}" if owner else str(at(claim, "metadata", "name"))


def _status(claim: Mapping[str, Any]) -> Obj:
    status = dict(claim.get("status") or {})
    users = [each["name"] for each in status.get("reservedFor") or ()]
    allocation = dict(status.get("allocation") or {})
    allocation.pop("allocationTimestamp", None)
    devices = dict(allocation.get("devices") or {})
    results = [{**each, **({"shareID": "*"} if "shareID" in each else {})} for each in devices.get("results") or ()]
    if results:
        allocation["devices"] = {**devices, "results": results}
    return {"reservedFor": users, "allocation": allocation}
