"""Worlds with devices, and what kube-scheduler made of them: each is repeated on simulated nodes.

A world has ``nodes``, ``objects`` (slices, classes, rules for taints), and ``steps`` in their order. A step makes the
claims or templates of its ``objects`` and a ``pod``, or deletes a pod (``delete``). What kube-scheduler then told is in
``found``: the ``node`` of the pod, or the ``reason`` and the ``message`` of its condition, and the status of all
``claims``, by their names or, for those made for a pod, by that pod and the name there. ``reported`` is the same after
drivers have told that devices are ready for which the pod waits. A pod without a node is deleted, after which claims are as
in ``removed``. Of claims only those are told whose status has changed, None for those that are gone.
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
_CLAIMS: Final = "resourceclaims.resource.k8s.io"
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
    claims: Obj = {}
    for number, step in enumerate(world["steps"]):
        for recorded, found in _outcomes(cluster, step):
            if "claims" in recorded:
                claims = {name: each for name, each in {**claims, **recorded["claims"]}.items() if each is not None}
                recorded = {**recorded, "claims": claims}
            if found != recorded:
                yield Difference(number, recorded, found)
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


def _outcomes(cluster: Cluster, step: Mapping[str, Any]) -> Iterator[tuple[Obj, Obj]]:
    """The recorded outcomes of a step, each with that of the cluster."""
    yield step["found"], _perform(cluster, step)
    if "reported" in step:
        _report(cluster, step["pod"]["metadata"]["name"])
        yield step["reported"], _verdict(cluster, step["pod"]["metadata"]["name"])
    if "removed" in step:
        _delete(cluster, step["pod"]["metadata"]["name"])
        yield {"claims": step["removed"]}, {"claims": claims_of(cluster.list(_CLAIMS))}


def _delete(cluster: Cluster, pod: str) -> None:
    cluster.perform(Request.of("DELETE", f"/api/v1/namespaces/default/pods/{pod}?gracePeriodSeconds=0"))
    cluster.settle()


def _report(cluster: Cluster, pod: str) -> None:
    """Tell of all devices of a pod that they are as they have to be before it is bound."""
    for claim in cluster.list(_CLAIMS):
        if pod in [each["name"] for each in at(claim, "status", "reservedFor") or ()]:
            results = at(claim, "status", "allocation", "devices", "results") or ()
            told = [_told(each) for each in results if each.get("bindingConditions")]
            path = f"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/{claim['metadata']['name']}/status"
            body = {**claim, "status": {**claim["status"], "devices": told}}
            assert cluster.perform(Request.of("PUT", path, body)).succeeded
    cluster.advance(seconds=6)


def _told(result: Mapping[str, Any]) -> Obj:
    now = {"status": "True", "reason": "R", "message": "", "lastTransitionTime": "2024-04-17T00:00:00Z"}
    parts = ("driver", "pool", "device", "shareID")
    conditions = [{"type": each, **now} for each in result["bindingConditions"]]
    return {**{name: result[name] for name in parts if name in result}, "conditions": conditions}


def _perform(cluster: Cluster, step: Mapping[str, Any]) -> Obj:
    if "delete" in step:
        _delete(cluster, step["delete"])
        return {"claims": claims_of(cluster.list(_CLAIMS))}
    for each in step["objects"]:
        cluster.create(each)
    pod = step["pod"]
    node = step["found"].get("node") or _only_node(step["found"], pod["metadata"]["name"])
    if node:  # of several nodes kube-scheduler takes any of the best
        placed = {**(pod["spec"].get("nodeSelector") or {}), "kubernetes.io/hostname": node}
        pod = {**pod, "spec": {**pod["spec"], "nodeSelector": placed}}
    cluster.create(pod)
    cluster.settle()
    found = _verdict(cluster, pod["metadata"]["name"])
    return found if found.get("gone") else {**found, "claims": claims_of(cluster.list(_CLAIMS))}


def _only_node(found: Mapping[str, Any], pod: str) -> str:
    """The node of a pod that waits for its devices, if they are for one node."""
    terms = [
        field
        for claim in (found["claims"].values() if found.get("waits") else ())
        if claim is not None and pod in claim["reservedFor"]
        for term in at(claim, "allocation", "nodeSelector", "nodeSelectorTerms") or ()
        for field in term.get("matchFields") or ()
    ]
    return str(terms[0]["values"][0]) if terms else ""


def _verdict(cluster: Cluster, name: str) -> Obj:
    pods = [each for each in cluster.list("pods") if each["metadata"]["name"] == name]
    return verdict(pods[0]) if pods else {"gone": True}


def verdict(pod: Mapping[str, Any]) -> Obj:
    """The node of a pod, or why it has none; and the requests that its extended resources come from."""
    if pod["metadata"].get("deletionTimestamp"):
        return {"gone": True}
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
