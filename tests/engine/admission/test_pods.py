"""The effects of the default plugins on pods."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import simkit
from simkit.client.resources import PODS
from simkit.engine.admission.service_account import ServiceAccount
from simkit.meta.clock import NameSource
from simkit.meta.deadline import Deadline, within
from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.meta.names import GroupVersionKind
from simkit.schema.behaviour import default_behaviour
from simkit.seams import Review
from tests.engine.admission.objects import change, container, obj, pod, refusal

ANN = Identity("ann")
MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def test_a_pod_gets_its_accounts_token(cluster: simkit.Cluster) -> None:
    """The token volume is mounted into every container that has nothing at its place."""
    taken = {**container(), "name": "d", "volumeMounts": [{"name": "own", "mountPath": MOUNT}]}
    made = cluster.create(pod(containers=[container(), taken], volumes=[{"name": "own", "emptyDir": {}}]))["spec"]
    assert (made["serviceAccountName"], made["serviceAccount"]) == ("default", "default")
    [own, token] = made["volumes"]
    assert token["name"].startswith("kube-api-access-")
    assert [list(source) for source in token["projected"]["sources"]] == [
        ["serviceAccountToken"],
        ["configMap"],
        ["downwardAPI"],
    ]
    assert made["containers"][0]["volumeMounts"] == [{"name": token["name"], "readOnly": True, "mountPath": MOUNT}]
    assert made["containers"][1]["volumeMounts"] == [{"name": own["name"], "mountPath": MOUNT}]


@pytest.mark.parametrize("place", ["pod", "account"])
def test_a_token_can_be_declined(cluster: simkit.Cluster, place: str) -> None:
    """The pod decides, else its account."""
    account = obj("v1", "ServiceAccount", "a", automountServiceAccountToken=place == "pod")
    cluster.create(account)
    spec: dict[str, Any] = {"automountServiceAccountToken": False} if place == "pod" else {}
    assert "volumes" not in cluster.create(pod(serviceAccountName="a", **spec))["spec"]


def test_secrets_may_be_limited_to_those_of_the_account(cluster: simkit.Cluster) -> None:
    """An account can say that its pods use no secret that it does not list, in whatever way."""
    cluster.create(
        obj(
            "v1",
            "ServiceAccount",
            "strict",
            meta={"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
            secrets=[{"name": "ok"}],
        )
    )
    end = "is not allowed because service account strict does not reference that"
    wrong: dict[str, Any] = {
        f'volume with secret.secretName="no" {end} secret': {
            "volumes": [{"name": "v", "secret": {"secretName": "no"}}]
        },
        f'container c with envVar E referencing secret.secretName="no" {end} secret': {
            "containers": [container(env=[{"name": "E", "valueFrom": {"secretKeyRef": {"name": "no", "key": "k"}}}])]
        },
        f'container c with envFrom referencing secret.secretName="no" {end} secret': {
            "containers": [container(envFrom=[{"secretRef": {"name": "no"}}])]
        },
        f'imagePullSecrets[0].name="no" {end} imagePullSecret': {"imagePullSecrets": [{"name": "no"}]},
    }
    for text, spec in wrong.items():
        assert refusal(cluster, pod(serviceAccountName="strict", **spec)).message == f'pods "p" is forbidden: {text}'
    good: Any = {"volumes": [{"name": "v", "secret": {"secretName": "ok"}}]}
    assert cluster.create(pod(serviceAccountName="strict", **good))


def test_a_mirror_pod_names_nothing(cluster: simkit.Cluster) -> None:
    """A mirror of a static pod has neither account nor secrets."""
    note = {"kubernetes.io/config.mirror": "x"}
    secret = [{"name": "v", "secret": {"secretName": "s"}}]
    assert "secrets" in refusal(cluster, pod(annotations=note, nodeName="n", volumes=secret)).message
    assert "serviceAccountName" not in cluster.create(pod(annotations=note, nodeName="n"))["spec"]


def test_limits_are_filled_in_and_kept(cluster: simkit.Cluster) -> None:
    """A range fills what is missing, and tells all that is beyond it."""
    limit = {"type": "Container", "default": {"memory": "64Mi"}, "max": {"cpu": "1"}, "min": {"cpu": "100m"}}
    cluster.create(obj("v1", "LimitRange", "l", spec={"limits": [limit]}))
    made = cluster.create(pod(initContainers=[{**container(), "name": "i"}]))
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c; "
        "cpu, memory request for init container i; cpu, memory limit for init container i"
    )
    small = container(resources={"requests": {"cpu": "10m"}, "limits": {"cpu": "10m"}})
    big = {**container(resources={"limits": {"cpu": "2"}}), "name": "d"}
    assert refusal(cluster, pod("q", containers=[small, big])).message == (
        'pods "q" is forbidden: [minimum cpu usage per Container is 100m, but request is 10m, '
        "maximum cpu usage per Container is 1, but limit is 2]"
    )


def test_updates_of_pods_are_not_limited_again(cluster: simkit.Cluster) -> None:
    """A range that came later says nothing to a pod that is there, nor to one that is going."""
    cluster.create(pod())
    cluster.create(obj("v1", "LimitRange", "l", spec={"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}))
    assert change(cluster, "/api/v1/namespaces/default/pods/p", {"metadata": {"labels": {"a": "b"}}}).status == 200


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    return obj("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **more)


def test_the_default_class_gives_the_priority(cluster: simkit.Cluster) -> None:
    """A pod without a class gets the default one; there can be one default only."""
    cluster.create(priority_class("usual", 7, globalDefault=True))
    made = cluster.create(pod())["spec"]
    assert (made["priorityClassName"], made["priority"]) == ("usual", 7)
    error = refusal(cluster, priority_class("other", 8, globalDefault=True))
    assert error.message.endswith("PriorityClass usual is already marked as default. Only one default can exist")
    assert change(cluster, "/apis/scheduling.k8s.io/v1/priorityclasses/usual", {"description": "d"}).status == 200


def test_preemption_must_be_the_classes(cluster: simkit.Cluster) -> None:
    """A pod cannot say otherwise than its class."""
    cluster.create(priority_class("gentle", 7, preemptionPolicy="Never"))
    text = refusal(cluster, pod(priorityClassName="gentle", preemptionPolicy="PreemptLowerPriority")).message
    assert "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec" in text


def test_pods_leave_a_lost_node_after_five_minutes(cluster: simkit.Cluster) -> None:
    """Both taints are tolerated for a while, unless the pod says something itself."""
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    [first, second] = cluster.create(pod(tolerations=[own]))["spec"]["tolerations"]
    assert first == own
    assert (second["key"], second["tolerationSeconds"]) == ("node.kubernetes.io/unreachable", 300)
    assert len(cluster.create(pod("q", tolerations=[{"operator": "Exists"}]))["spec"]["tolerations"]) == 1


def runtime_class(**more: Any) -> dict[str, Any]:
    return obj("node.k8s.io/v1", "RuntimeClass", "kata", handler="kata", **more)


def test_a_runtime_costs_and_places(cluster: simkit.Cluster) -> None:
    """Overhead, node selector and tolerations come from the class; contradictions are refused."""
    scheduling = {"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata", "operator": "Exists"}]}
    cluster.create(runtime_class(overhead={"podFixed": {"cpu": "250m"}}, scheduling=scheduling))
    made = cluster.create(pod(runtimeClassName="kata"))["spec"]
    assert made["overhead"] == {"cpu": "250m"}
    assert made["nodeSelector"] == {"kata": "yes"}
    assert {"key": "kata", "operator": "Exists"} in made["tolerations"]
    assert "conflict: runtimeClass.scheduling.nodeSelector[kata] = yes; pod.spec.nodeSelector[kata] = no" in (
        refusal(cluster, pod("q", runtimeClassName="kata", nodeSelector={"kata": "no"})).message
    )
    assert (
        "Pod's Overhead doesn't match"
        in refusal(cluster, pod("q", runtimeClassName="kata", overhead={"cpu": "1"})).message
    )
    assert "Pod Overhead set without" in refusal(cluster, pod("q", overhead={"cpu": "1"})).message
    assert 'RuntimeClass "runc" not found' in refusal(cluster, pod("q", runtimeClassName="runc")).message


def test_new_nodes_are_not_ready(cluster: simkit.Cluster) -> None:
    """A node is tainted until it says that it is ready."""
    made = cluster.create(obj("v1", "Node", "n"))
    assert made["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def claim(name: str, size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return obj("v1", "PersistentVolumeClaim", name, spec=wanted)


def test_the_newest_default_class_wins(making: Any) -> None:
    """Of several default classes the newest is taken, and the first by name among equals."""
    cluster = making()
    note = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    for name in ("b", "a"):
        cluster.create(obj("storage.k8s.io/v1", "StorageClass", name, meta=note, provisioner="x"))
    made = cluster.create(claim("c"))
    assert made["spec"]["storageClassName"] == "a"
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert (
        "storageClassName"
        not in cluster.create(
            claim("d") | {"metadata": {"name": "d", "annotations": {"volume.beta.kubernetes.io/storage-class": "z"}}}
        )["spec"]
    )


def test_claims_grow_where_their_class_says_so(cluster: simkit.Cluster) -> None:
    """A bound claim of an expandable class may ask for more."""
    for name, expands in (("rigid", False), ("elastic", True)):
        cluster.create(obj("storage.k8s.io/v1", "StorageClass", name, provisioner="x", allowVolumeExpansion=expands))
        cluster.create(claim(name, storageClassName=name, volumeName="v"))
        path = f"/api/v1/namespaces/default/persistentvolumeclaims/{name}"
        bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        assert change(cluster, f"{path}/status", bound).status == 200
        more = change(cluster, path, {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
        assert more.status == (200 if expands else 403)


def test_ingresses_get_the_default_class(cluster: simkit.Cluster) -> None:
    """An ingress without a class gets the default one, an annotated one keeps its own."""
    note = {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
    cluster.create(obj("networking.k8s.io/v1", "IngressClass", "edge", meta=note, spec={"controller": "example.com/x"}))
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    made = cluster.create(obj("networking.k8s.io/v1", "Ingress", "i", spec={"defaultBackend": backend}))
    assert made["spec"]["ingressClassName"] == "edge"
    old = {"annotations": {"kubernetes.io/ingress.class": "old"}}
    made = cluster.create(obj("networking.k8s.io/v1", "Ingress", "j", meta=old, spec={"defaultBackend": backend}))
    assert "ingressClassName" not in made["spec"]


def test_a_missing_namespace_is_told_first(cluster: simkit.Cluster) -> None:
    """A missing namespace is reported before all else; deletions are allowed everywhere."""
    lost = {**pod(), "metadata": {"name": "p", "namespace": "nowhere"}}
    assert refusal(cluster, lost).message == 'namespaces "nowhere" not found'
    assert cluster.perform(Request.of("DELETE", "/api/v1/namespaces/kube-system")).status == 403


@pytest.mark.parametrize("looks", [1, 3])
def test_a_request_waits_for_the_account_of_a_new_namespace(cluster: simkit.Cluster, looks: int) -> None:
    """Whoever has time looks again, later each time, for the account that a controller makes; others do not."""
    store, pauses = cluster.engine.store, list[float]()
    cluster.create(obj("v1", "Namespace", "new"))

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == looks:
            cluster.create(obj("v1", "ServiceAccount", "default", meta={"namespace": "new"}))

    plugin = ServiceAccount(store, NameSource(1), sleep=sleep)
    review = Review(
        default_behaviour("1.30"),
        ANN,
        "CREATE",
        PODS,
        "v1",
        "",
        GroupVersionKind("", "v1", "Pod"),
        "new",
        "p",
        pod(),
        None,
    )
    mutate = partial(plugin.mutate, review)
    for hurried in (mutate, partial(within, Deadline(), mutate)):
        with pytest.raises(StatusError, match="error looking up service account new/default"):
            hurried()
    assert not pauses
    assert within(Deadline(60), mutate)["spec"]["serviceAccountName"] == "default"
    assert len(pauses) == looks
    assert pauses == sorted(pauses)
