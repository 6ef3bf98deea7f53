"""Objects that validation admits, with the most hostile values of their fields, stop no controller from its other work."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

import simkit
from simkit.cluster.options import Options
from simkit.meta.message import Request, Response
from tests.engine.controllers.worlds import job, names, obj, workload

INT32, INT64 = 2**31 - 1, 2**63 - 1
TEXTS: Final = (
    "²",
    "9" * 3000,
    "-" + "9" * 400,
    "1_0",
    "",
    "null",
    "{",
    "[" * 300,
    "9999-99-99T99:99:99Z",
    "\u0000\u202e",
)
"""Texts of annotations, of data, and of whatever else takes any text."""
READ: Final = (
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/max-replicas",
    "deployment.kubernetes.io/desired-replicas",
    "deprecated.daemonset.template.generation",
    "controller.kubernetes.io/pod-deletion-cost",
    "batch.kubernetes.io/job-index-failure-count",
    "batch.kubernetes.io/cronjob-scheduled-timestamp",
    "autoscaling.alpha.kubernetes.io/metrics",
    "autoscaling.alpha.kubernetes.io/behavior",
    "endpoints.kubernetes.io/last-change-trigger-time",
    "endpoints.kubernetes.io/over-capacity",
    "control-plane.alpha.kubernetes.io/leader",
    "pv.kubernetes.io/bind-completed",
    "volume.kubernetes.io/selected-node",
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
    "scheduler.alpha.kubernetes.io/node-selector",
    "rbac.authorization.kubernetes.io/autoupdate",
)
"""Annotations that controllers read."""
_SCHEDULES: Final = ("0 0 30 2 *", "@every 1ns", "@every 2562047h", "59 23 31 12 6", "* * * * *", "TZ=UTC 0 0 1 1 *")
_QUANTITIES: Final = ("1n", "9E", "9" * 18, "0.000000001", "1e18")
_PERCENT: Final = ("0%", "100%", "1%", 0, INT32)
_POD = {"containers": [{"name": "c", "image": "i"}]}


@st.composite
def metas(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Metadata with annotations, finalizers and owners that somebody chose."""
    notes = draw(st.dictionaries(st.sampled_from(READ), st.sampled_from(TEXTS), max_size=6))
    owners = draw(st.lists(st.sampled_from(["a-map", "a-gone", name]), max_size=2, unique=True))
    refs = [
        {
            "apiVersion": draw(st.sampled_from(["v1", "no.such/v9"])),
            "kind": "ConfigMap",
            "name": one,
            "uid": f"uid-{one}",
        }
        for one in owners
    ]
    kept = draw(st.lists(st.sampled_from(["a.b/kept", "foregroundDeletion", "orphan"]), max_size=1))
    return {"name": name, "annotations": notes, "ownerReferences": refs, "finalizers": kept}


@st.composite
def poison(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Objects of many kinds, with values at the ends of what is allowed."""
    percent, quantity = st.sampled_from(_PERCENT), st.sampled_from(_QUANTITIES)
    number = st.sampled_from([0, 1, INT32])
    rolling = {"maxSurge": draw(percent), "maxUnavailable": draw(st.sampled_from(["1%", "100%", 1]))}
    deployment = {
        "replicas": 0,
        "minReadySeconds": 0,
        "progressDeadlineSeconds": INT32,
        "strategy": {"rollingUpdate": rolling},
    }
    jobs = {"backoffLimit": draw(number), "ttlSecondsAfterFinished": draw(number), "parallelism": 0}
    cron = {"schedule": draw(st.sampled_from(_SCHEDULES)), "startingDeadlineSeconds": draw(st.sampled_from([0, INT64]))}
    cron |= {"concurrencyPolicy": draw(st.sampled_from(["Allow", "Forbid", "Replace"]))}
    scaled = {"kind": draw(st.sampled_from(["Deployment", "Nothing"])), "name": "a-web", "apiVersion": "apps/v1"}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": draw(quantity)}},
    }
    secret = {
        "type": draw(st.sampled_from(["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token", "a/b"]))
    }
    text = draw(st.sampled_from(TEXTS))
    owner = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}]}
    objects = [
        workload("Deployment", "a-web", **deployment),
        workload("ReplicaSet", "a-set", replicas=0, minReadySeconds=INT32),
        workload("StatefulSet", "a-state", replicas=0, serviceName="a", revisionHistoryLimit=draw(number)),
        workload("DaemonSet", "a-daemon", updateStrategy={"rollingUpdate": {"maxUnavailable": draw(percent)}}),
        job("a-job", **jobs),
        obj("batch/v1", "CronJob", "a-cron", spec={**cron, "jobTemplate": {"spec": {"parallelism": 0, **job("a")["spec"]}}}),
        obj("policy/v1", "PodDisruptionBudget", "a-budget", spec={"maxUnavailable": draw(percent), "selector": {}}),
        obj("autoscaling/v2", "HorizontalPodAutoscaler", "a-scale", spec={"maxReplicas": INT32, "scaleTargetRef": scaled, "metrics": [metric]}),
        obj("v1", "ResourceQuota", "a-quota", spec={"hard": {"requests.storage": draw(quantity), "count/pods": "9E"}}),
        obj("v1", "Service", "a-service", spec={"selector": {"app": "web"}, "ports": [{"port": 65535, "targetPort": "none"}]}),
        obj("v1", "Endpoints", "a-service", subsets=[{"addresses": [{"ip": "1.2.3.4"}], "ports": []}]),
        obj("v1", "PersistentVolumeClaim", "a-claim", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": draw(quantity)}}}),
        obj("v1", "ConfigMap", "a-map", data={"a": text}),
        obj("v1", "Secret", "a-secret", stringData={"expiration": text, "token-id": text, "token-secret": text}, **secret),
        obj("v1", "Pod", "a-pod", spec={**_POD, "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": draw(st.sampled_from([-INT64, INT64]))}]}),
        obj("v1", "Node", "a-node", spec={"taints": [{"key": "a", "effect": "NoExecute"}]}),
        obj("v1", "Namespace", "a-space"),
        obj("coordination.k8s.io/v1", "Lease", "a-lease", spec={"holderIdentity": "x", "leaseDurationSeconds": INT32}),
        obj("rbac.authorization.k8s.io/v1", "ClusterRole", "a-role", rules=[], aggregationRule=owner),
        obj("v1", "Event", "a-event", involvedObject={"namespace": "default"}, message="x", count=INT32),
    ]  # fmt: skip
    chosen = draw(st.lists(st.sampled_from(objects), min_size=8, max_size=len(objects), unique_by=id))
    return [{**each, "metadata": {**each["metadata"], **draw(metas(each["metadata"]["name"]))}} for each in chosen]


def _healthy(cluster: simkit.Cluster) -> None:
    """One object for each of the controllers that are looked at."""
    cluster.create(workload("Deployment", "z-web", replicas=2))
    cluster.create({**workload("StatefulSet", "z-state", replicas=1, serviceName="z")})
    cluster.create(job("z-job"))
    spec = {"schedule": "0 * * * *", "jobTemplate": {"spec": job("z")["spec"]}}
    cluster.create(obj("batch/v1", "CronJob", "z-cron", spec=spec))
    cluster.create(obj("v1", "Service", "z-service", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}))
    cluster.create(obj("v1", "ResourceQuota", "z-quota", spec={"hard": {"configmaps": "1000"}}))
    cluster.create(obj("policy/v1", "PodDisruptionBudget", "z-budget", spec={"maxUnavailable": 1, "selector": {}}))
    owner = cluster.create(obj("v1", "ConfigMap", "z-owner"))
    uid = owner["metadata"]["uid"]
    refs = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "z-owner", "uid": uid}]
    cluster.create(obj("v1", "ConfigMap", "z-owned", meta={"ownerReferences": refs}))
    cluster.create(obj("v1", "Namespace", "z-space"))
    cluster.settle()
    cluster.delete("configmap", "z-owner", namespace="default")
    cluster.delete("namespace", "z-space")


def _converged(cluster: simkit.Cluster) -> Mapping[str, Any]:
    """What the controllers have to have done about the healthy objects."""
    made = [name.partition("-")[2].partition("-")[0] for name in names(cluster, "pods") if name.startswith("z-")]
    quota = cluster.get("resourcequota", "z-quota", namespace="default")
    budget = cluster.get("poddisruptionbudget", "z-budget", namespace="default")
    spaces = [each["metadata"]["name"] for each in cluster.list("namespaces")]
    return {
        "pods": {name: made.count(name) for name in ("web", "state", "job")},
        "cron": any(name.startswith("z-cron-") for name in names(cluster, "jobs")),
        "slices": any(name.startswith("z-service-") for name in names(cluster, "endpointslices")),
        "quota": "configmaps" in quota["status"].get("used", {}),
        "budget": budget["status"]["observedGeneration"],
        "owned": "z-owned" in names(cluster, "configmaps"),
        "accounts": "default" in names(cluster, "serviceaccounts"),
        "space": "z-space" in spaces,
    }


@settings(max_examples=2, deadline=None)
@given(objects=poison())
def test_whatever_is_admitted_the_others_converge(objects: list[dict[str, Any]]) -> None:
    """Poisoned objects come first by name; an hour later every healthy one is as it should be."""
    clock = simkit.SimulatedClock()
    cluster = simkit.Cluster(options=Options(seed=1, clock=clock))
    logging.getLogger("simkit").setLevel(logging.CRITICAL)
    try:
        answers = [cluster.perform(Request.of("POST", _path(each), each)) for each in objects]
        _healthy(cluster)
        cluster.settle()
        clock.advance(3700)
        cluster.settle()
    finally:
        logging.getLogger("simkit").setLevel(logging.NOTSET)
    assert max(answer.status for answer in answers) < 500
    assert _converged(cluster) == {
        "pods": {"web": 2, "state": 1, "job": 1},
        "cron": True,
        "slices": True,
        "quota": True,
        "budget": 1,
        "owned": False,
        "accounts": True,
        "space": False,
    }


_CLUSTER_WIDE: Final = frozenset({"Node", "Namespace", "ClusterRole"})


def _path(each: Mapping[str, Any]) -> str:
    version, kind = each["apiVersion"], each["kind"]
    start = f"/apis/{version}" if "/" in version else f"/api/{version}"
    place = "" if kind in _CLUSTER_WIDE else "/namespaces/default"
    plural = kind.lower() if kind == "Endpoints" else f"{kind.lower()}s"
    return f"{start}{place}/{plural}"


def test_most_of_what_is_made_is_admitted() -> None:
    """Else the property says nothing."""
    cluster = simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock()))
    answers: list[Response] = []

    @settings(max_examples=2, deadline=None, database=None)
    @given(objects=poison())
    def tried(objects: list[dict[str, Any]]) -> None:
        answers.extend(cluster.fork().perform(Request.of("POST", _path(each), each)) for each in objects)

    tried()
    assert sum(answer.succeeded for answer in answers) > 0.7 * len(answers)
