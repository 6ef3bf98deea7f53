"""Workloads with what their controllers make of them: replica sets and pods, with owners."""

from __future__ import annotations

from typing import Any

from simkit.meta.clock import NameSource
from tools.cluster.build import Obj, made

NODES = ("depot-a1", "depot-a2", "depot-b1", "depot-b2")


class Workloads:
    """Makes workloads; names of replica sets and pods come from one source of chance, nodes in turn."""

    def __init__(self, chance: NameSource) -> None:
        self._name_source = chance
        self._turn = 0

    def deployment(
        self, name: str, namespace: str, image: str, account: str, replicas: int = 1, **pod: Any
    ) -> list[Obj]:
        """A deployment, its replica set and its pods; an ``owner`` names the maker of each, see ``make_cluster``."""
        labels = {"app": name}
        template = self._template(labels, name, image, account, pod)
        spec = {
            "progressDeadlineSeconds": 600,
            "replicas": replicas,
            "revisionHistoryLimit": 10,
            "selector": {"matchLabels": labels},
            "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}, "type": "RollingUpdate"},
            "template": template,
        }
        ready = {"availableReplicas": replicas, "readyReplicas": replicas, "replicas": replicas}
        status = {"observedGeneration": 1, "updatedReplicas": replicas, **ready}
        whole = made("apps/v1", "Deployment", name, namespace, labels=labels, spec=spec, status=status)
        hashed = {**labels, "pod-template-hash": self._name_source.suffix(9)}
        set_name = f"{name}-{hashed['pod-template-hash']}"
        inner = {**template, "metadata": {"creationTimestamp": None, "labels": hashed}}
        set_spec = {"replicas": replicas, "selector": {"matchLabels": hashed}, "template": inner}
        replica_set = made("apps/v1", "ReplicaSet", set_name, namespace, labels=hashed, spec=set_spec, status=ready)
        owned = _owned(replica_set, whole)
        return [whole, owned, *(self._pod(owned, template["spec"], hashed) for _ in range(replicas))]

    def daemon_set(self, name: str, namespace: str, image: str, account: str, **pod: Any) -> list[Obj]:
        """A daemon set with a pod on every node."""
        labels = {"app": name}
        template = self._template(labels, name, image, account, pod)
        count = len(NODES)
        numbers = dict.fromkeys(
            ("currentNumberScheduled", "desiredNumberScheduled", "numberAvailable", "numberReady"), count
        )
        spec = {
            "revisionHistoryLimit": 10,
            "selector": {"matchLabels": labels},
            "template": template,
            "updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}, "type": "RollingUpdate"},
        }
        status = {**numbers, "numberMisscheduled": 0, "observedGeneration": 1}
        whole = made("apps/v1", "DaemonSet", name, namespace, labels=labels, spec=spec, status=status)
        return [whole, *(self._pod(whole, template["spec"], labels, node) for node in NODES)]

    def cron_job(self, name: str, namespace: str, image: str, account: str, schedule: str) -> Obj:
        template = self._template({"app": name}, name, image, account, {"restartPolicy": "OnFailure"})
        job = {"metadata": {"creationTimestamp": None}, "spec": {"template": template}}
        spec = {
            "concurrencyPolicy": "Forbid",
            "failedJobsHistoryLimit": 1,
            "jobTemplate": job,
            "schedule": schedule,
            "successfulJobsHistoryLimit": 3,
            "suspend": False,
        }
        return made("batch/v1", "CronJob", name, namespace, labels={"app": name}, spec=spec, status={})

    def _template(self, labels: dict[str, str], name: str, image: str, account: str, pod: Obj) -> Obj:
        container: Obj = {
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "name": name,
            "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
        extra = dict(pod)
        container |= extra.pop("container", {})
        spec = {
            "containers": [container],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "serviceAccount": account,
            "serviceAccountName": account,
            "terminationGracePeriodSeconds": 30,
            **extra,
        }
        return {"metadata": {"creationTimestamp": None, "labels": labels}, "spec": spec}

    def _pod(self, owner: Obj, spec: Obj, labels: dict[str, str], node: str = "") -> Obj:
        self._turn += 1
        node = node or NODES[self._turn % len(NODES)]
        prefix = f"{owner['metadata']['name']}-"
        running = {
            **spec,
            "enableServiceLinks": True,
            "nodeName": node,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
        }
        status = {
            "conditions": [{"status": "True", "type": word} for word in ("Initialized", "Ready", "PodScheduled")],
            "phase": "Running",
            "podIP": f"10.42.{NODES.index(node)}.{self._turn % 250 + 2}",
            "qosClass": "Burstable",
        }
        namespace = owner["metadata"]["namespace"]
        name = prefix + self._name_source.suffix(5)
        pod = made("v1", "Pod", name, namespace, labels=labels, spec=running, status=status)
        pod["metadata"]["generateName"] = prefix
        return _owned(pod, owner)


def _owned(obj: Obj, owner: Obj) -> Obj:
    """The object with its owner, whose uid is filled in when it has one."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "blockOwnerDeletion": True,
        "controller": True,
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
    }
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [reference]}}
