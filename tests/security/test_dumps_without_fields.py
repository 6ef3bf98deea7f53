"""Objects of a dump without fields that every stored object has: uids, owners, names of parts, whole specs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import simkit
from simkit.cluster.options import Options
from simkit.meta.message import Request
from simkit.schema.catalogue import Resource
from tests.engine.controllers.worlds import job, names, obj, volume, workload
from tests.security.places import Place, places, without

pytestmark = pytest.mark.slow

HOME = "z-home"
LABELS = {"app": "z"}
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
MERGE = "application/merge-patch+json"
REFERENCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a-web"}
ANYBODY = {"subjects": [{"kind": "Group", "group": {"name": "*"}}], "resourceRules": []}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a-role"}
DUMPED: tuple[dict[str, Any], ...] = (
    workload("Deployment", "a-web", replicas=2),
    workload("StatefulSet", "a-state", replicas=1, serviceName="a"),
    workload("DaemonSet", "a-daemon"),
    job("a-job"),
    obj("batch/v1", "CronJob", "a-cron", spec={"schedule": "*/5 * * * *", "jobTemplate": {"spec": job("a")["spec"]}}),
    obj("policy/v1", "PodDisruptionBudget", "a-budget", spec={"maxUnavailable": 1, "selector": {"matchLabels": LABELS}}),
    obj("autoscaling/v2", "HorizontalPodAutoscaler", "a-scale", spec={"maxReplicas": 3, "scaleTargetRef": REFERENCE}),
    obj("v1", "ResourceQuota", "a-quota", spec={"hard": {"count/pods": "99"}}),
    obj("v1", "Service", "a-service", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}),
    obj("v1", "Endpoints", "a-ends", subsets=[{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]),
    obj("v1", "PersistentVolumeClaim", "a-claim", spec={"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}),
    volume("a-volume"),
    obj("v1", "Pod", "a-pod", spec={"containers": [{"name": "c", "image": "i", "livenessProbe": {"httpGet": {"port": 80}}}], "initContainers": [{"name": "d", "image": "i"}], "volumes": [{"name": "v", "emptyDir": {}}]}),
    obj("v1", "Namespace", "a-space"),
    obj("scheduling.k8s.io/v1", "PriorityClass", "a-class", value=7),
    obj("rbac.authorization.k8s.io/v1", "RoleBinding", "a-bound", roleRef=ROLE, subjects=[{"kind": "ServiceAccount", "name": "a", "namespace": "a"}]),
    obj("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "a-flow", spec={"priorityLevelConfiguration": {"name": "none"}, "matchingPrecedence": 500}),
)  # fmt: skip


def stored(cluster: simkit.Cluster) -> Iterator[tuple[Resource, str, Any]]:
    """Every object of a cluster with its resource and its path."""
    made = cluster._control_plane
    for resource in made.catalogue.stored():
        if resource.gvk != resource.storage_gvk:
            continue
        group, version = resource.gvk.group, resource.gvk.version
        for entry in list(made.store.scan(resource.storage)):
            start = f"/apis/{group}/{version}" if group else f"/api/{version}"
            place = f"/namespaces/{entry.key.namespace}" if entry.key.namespace else ""
            yield resource, f"{start}{place}/{resource.storage.resource}/{entry.key.name}", entry.object


@pytest.fixture(scope="module")
def dump() -> list[dict[str, Any]]:
    """The objects of a cluster that ran for some minutes."""
    clock = simkit.SimulatedClock()
    cluster = simkit.Cluster(options=Options(seed=3, clock=clock))
    cluster.add_nodes(2)
    for each in DUMPED:
        cluster.create(each)
    for _ in range(6):
        clock.advance(60)
        cluster.settle()
    return [orjson.loads(orjson.dumps(each)) for _, _, each in stored(cluster) if each["kind"] != "Event"]


def broken(dump: Sequence[dict[str, Any]], chance: Random) -> list[dict[str, Any]]:
    """The objects of a dump, most of them without some field or other; the rights of the controllers are left."""
    made = []
    for each in dump:
        if "rbac" not in each["apiVersion"] and each["kind"] not in ("PriorityLevelConfiguration", "APIService"):
            for _ in range(chance.choice([0, 1, 1, 2, 3])):
                left = [place for place in places(each) if place and place[0] not in ("apiVersion", "kind")]
                each = without(each, chance.choice(left)) if left else each
        made.append(each)
    return made


def at_home(each: dict[str, Any]) -> dict[str, Any]:
    return {**each, "metadata": {**each["metadata"], "namespace": HOME}}


def healthy(cluster: simkit.Cluster) -> None:
    """One object for each of the controllers that are looked at."""
    cluster.create(obj("v1", "Namespace", HOME))
    cluster.settle()
    pod = {"containers": [{"name": "c", "image": "i"}]}
    for kind, name, more in (("Deployment", "web", {"replicas": 2}), ("StatefulSet", "state", {"serviceName": "z"})):
        labels = {**LABELS, "name": name}
        template = {"metadata": {"labels": labels}, "spec": pod}
        cluster.create(
            at_home(workload(kind, f"z-{name}", selector={"matchLabels": labels}, template=template, **more))
        )
    cluster.create(at_home(job("z-job")))
    cluster.create(at_home(obj("v1", "Service", "z-service", spec={"selector": LABELS, "ports": [{"port": 80}]})))
    chosen = {"maxUnavailable": 1, "selector": {"matchLabels": {"name": "web"}}}
    cluster.create(at_home(obj("policy/v1", "PodDisruptionBudget", "z-budget", spec=chosen)))
    owner = cluster.create(at_home(obj("v1", "ConfigMap", "z-owner")))
    refs = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "z-owner", "uid": owner["metadata"]["uid"]}]
    cluster.create(at_home(obj("v1", "ConfigMap", "z-owned", meta={"ownerReferences": refs})))
    cluster.settle()
    cluster.delete("configmap", "z-owner", namespace=HOME)


def converged(cluster: simkit.Cluster) -> dict[str, Any]:
    """What became of the healthy objects."""
    pods = cluster.list("pods", HOME)
    made = [each["metadata"]["name"].split("-")[1] for each in pods]
    budget = cluster.get("poddisruptionbudget", "z-budget", namespace=HOME)
    slices = cluster.list("endpointslices", HOME)
    return {
        "pods": [made.count(name) for name in ("web", "state", "job")],
        "run": all(each["status"]["phase"] in ("Running", "Succeeded") for each in pods),
        "job": cluster.get("job", "z-job", namespace=HOME)["status"].get("succeeded"),
        "budget": budget["status"]["currentHealthy"],
        "endpoints": sum(len(each.get("endpoints") or ()) for each in slices),
        "owned": "z-owned" in names(cluster, "configmaps", HOME),
    }


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 10**6))
@example(seed=1)
@example(seed=2)
@example(seed=3)
def test_whatever_is_left_out_of_a_dump_the_others_converge(dump: list[dict[str, Any]], seed: int) -> None:
    """Each object is changed, some pods are removed, kubelets take over, and hours later all that is whole is at rest."""
    chance = Random(seed)
    clock = simkit.SimulatedClock()
    cluster = simkit.Cluster.load(broken(dump, chance), captured=["*"], options=Options(seed=1, clock=clock))
    logging.getLogger("simkit").setLevel(logging.CRITICAL)
    try:
        cluster.add_nodes(2, name="z-{}")
        cluster.simulate_nodes()
        healthy(cluster)
        for resource, path, each in list(stored(cluster)):
            if each["metadata"]["name"].startswith(("a-", "node-")):
                body = {"metadata": {"labels": {"touched": "yes"}}}
                assert cluster.perform(Request.of("PATCH", path, body, content_type=MERGE)).status < 500, path
                if resource.kind == "Pod" and chance.random() < 0.5:
                    cluster.perform(Request.of("DELETE", path))
        for seconds in (0, 3700, 400):
            clock.advance(seconds)
            cluster.settle()
    finally:
        logging.getLogger("simkit").setLevel(logging.NOTSET)
    whole = {"pods": [2, 1, 1], "run": True, "job": 1, "budget": 2, "endpoints": 3, "owned": False}
    assert converged(cluster) == whole


def requests_for(path: str, each: dict[str, Any]) -> Iterator[Request]:
    """What clients do with an object."""
    labelled = {"metadata": {"labels": {"touched": "yes"}}}
    applied = {**labelled, "apiVersion": each["apiVersion"], "kind": each["kind"]}
    yield Request.of("GET", path, headers=TABLE)
    yield Request.of("PATCH", f"{path}?dryRun=All", labelled, content_type=MERGE)
    yield Request.of("PATCH", f"{path}?dryRun=All&fieldManager=x&force=true", applied, content_type="application/apply-patch+yaml")  # fmt: skip
    yield Request.of("PUT", f"{path}?dryRun=All", each)
    yield Request.of("PATCH", path, labelled, content_type=MERGE)
    yield Request.of("DELETE", path)


def outer(each: dict[str, Any]) -> list[Place]:
    """The places of an object that lie no deeper than a part of a list below its spec."""
    found = [place for place in places(each) if 0 < len(place) <= 4 and "managedFields" not in place]
    return [
        place for place in found if (place[0] not in ("apiVersion", "kind") and place[-1] != "name") or len(place) > 2
    ]


@pytest.mark.parametrize("kind", sorted({each["kind"] for each in DUMPED}))
def test_an_object_without_a_field_is_shown_and_changed(dump: list[dict[str, Any]], kind: str) -> None:
    """One binding without a role made the table of all bindings an internal error."""
    each = next(one for one in dump if one["kind"] == kind and one["metadata"]["name"].startswith("a-"))
    for place in outer(each):
        cluster = simkit.Cluster.load([without(each, place)], captured=["*"], options=Options(seed=1))
        for _, path, _ in list(stored(cluster)):
            for request in requests_for(path, each):
                answer = cluster.perform(request)
                assert answer.status != 500 or b"Error:" not in answer.body, (place, request.method, answer.body[:300])
