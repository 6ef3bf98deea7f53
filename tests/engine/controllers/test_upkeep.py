"""Objects of every namespace, its deletion, backends of services, and counts of budgets and quotas."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import orjson
import pytest

import simkit
from simkit.meta.message import Request
from tests.engine.controllers.worlds import names, obj, patch, say, volume, wish, workload


def test_a_namespace_is_furnished(cluster: simkit.Cluster) -> None:
    """Account and root certificate come at once, and come back."""
    cluster.create(obj("v1", "Namespace", "x"))
    cluster.settle()
    assert names(cluster, "sa", "x") + names(cluster, "cm", "x") == ["default", "kube-root-ca.crt"]
    cluster.delete("sa", "default", "x")
    cluster.delete("cm", "kube-root-ca.crt", "x")
    cluster.settle()
    assert names(cluster, "sa", "x") + names(cluster, "cm", "x") == ["default", "kube-root-ca.crt"]
    assert cluster.get("cm", "kube-root-ca.crt", "x")["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")


def test_the_same_seed_makes_the_same_certificates() -> None:
    """Even keys follow the seed, so that a notebook gives the same bytes twice."""
    from simkit.cluster.options import Options

    first, second = (
        simkit.Cluster(options=Options(seed=5, clock=simkit.SimulatedClock())).get("cm", "kube-root-ca.crt")
        for _ in range(2)
    )
    assert first == second


def test_a_namespace_is_emptied_before_it_goes(cluster: simkit.Cluster) -> None:
    """Everything in it is removed; what is held keeps it, and is told."""
    cluster.create(obj("v1", "Namespace", "x"))
    cluster.create(obj("v1", "ConfigMap", "held", meta={"namespace": "x", "finalizers": ["example.com/hold"]}))
    cluster.create({**workload("Deployment", "d", replicas=2), "metadata": {"name": "d", "namespace": "x"}})
    cluster.settle()
    cluster.delete("ns", "x")
    cluster.settle()
    assert names(cluster, "pods", "x") + names(cluster, "cm", "x") == ["held"]
    conditions = {each["type"]: each for each in cluster.get("ns", "x")["status"]["conditions"]}
    assert conditions["NamespaceContentRemaining"]["message"] == (
        "Some resources are remaining: configmaps. has 1 resource instances"
    )
    patch(cluster, "/api/v1/namespaces/x/configmaps/held", {"metadata": {"finalizers": None}})
    cluster.settle()
    assert "x" not in names(cluster, "ns", "")


def test_foreign_finalizers_keep_a_namespace(cluster: simkit.Cluster) -> None:
    """The controller takes away its own finalizer alone."""
    cluster.create(obj("v1", "Namespace", "x", spec={"finalizers": ["example.com/hold"]}))
    cluster.delete("ns", "x")
    cluster.settle()
    assert cluster.get("ns", "x")["spec"]["finalizers"] == ["example.com/hold"]


def test_token_secrets_are_filled_and_removed(cluster: simkit.Cluster) -> None:
    """A secret of the type holds a token that works, as long as its account is there."""
    note = {"annotations": {"kubernetes.io/service-account.name": "default"}}
    cluster.create(obj("v1", "Secret", "t", meta=note, type="kubernetes.io/service-account-token"))
    cluster.settle()
    data = cluster.get("secret", "t")["data"]
    assert base64.b64decode(data["namespace"]) == b"default"
    review = {"spec": {"token": base64.b64decode(data["token"]).decode()}}
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    status = cluster.perform(Request.of("POST", path, review)).object["status"]
    assert status["user"]["username"] == "system:serviceaccount:default:default"
    cluster.delete("sa", "default")
    cluster.settle()
    assert names(cluster, "secrets") == []


def test_accounts_forget_token_secrets(cluster: simkit.Cluster) -> None:
    """An account names no token that is gone; other secrets are its own matter."""
    cluster.create(obj("v1", "ServiceAccount", "a", secrets=[{"name": "t"}, {"name": "o"}]))
    note = {"annotations": {"kubernetes.io/service-account.name": "a"}}
    cluster.create(obj("v1", "Secret", "t", meta=note, type="kubernetes.io/service-account-token"))
    cluster.create(obj("v1", "Secret", "o"))
    cluster.settle()
    cluster.delete("secret", "t")
    cluster.delete("secret", "o")
    cluster.settle()
    assert cluster.get("sa", "a")["secrets"] == [{"name": "o"}]


def service(cluster: simkit.Cluster, name: str = "s", **spec: Any) -> None:
    wanted = {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"}], **spec}
    cluster.create(obj("v1", "Service", name, spec=wanted))


def backend(cluster: simkit.Cluster, name: str, address: str, *, ready: bool = True, port: int = 8080) -> None:
    container = {"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": port}]}
    spec = {"nodeName": "n", "containers": [container], "terminationGracePeriodSeconds": 0}
    cluster.create(obj("v1", "Pod", name, meta={"labels": {"app": "web"}}, spec=spec))
    say(cluster, name, ready=ready, podIP=address, podIPs=[{"ip": address}])


@pytest.fixture
def served(cluster: simkit.Cluster) -> simkit.Cluster:
    """A cluster with a node and a service."""
    cluster.create(obj("v1", "Node", "n", meta={"labels": {"topology.kubernetes.io/zone": "z1"}}))
    service(cluster)
    cluster.settle()
    return cluster


def test_endpoints_follow_pods(served: simkit.Cluster) -> None:
    """Ready ones and others apart, by the ports that pods give their names to."""
    backend(served, "b", "10.0.0.2")
    backend(served, "a", "10.0.0.1", ready=False)
    backend(served, "c", "10.0.0.3", port=9090)
    served.settle()
    subsets = served.get("endpoints", "s")["subsets"]
    shown = [
        (
            [each["ip"] for each in subset.get("addresses", ())],
            [each["ip"] for each in subset.get("notReadyAddresses", ())],
            subset["ports"][0]["port"],
        )
        for subset in subsets
    ]
    assert shown == [(["10.0.0.2"], ["10.0.0.1"], 8080), (["10.0.0.3"], [], 9090)]
    served.delete("pod", "b")
    served.delete("pod", "a")
    served.settle()
    assert [each["ip"] for subset in served.get("endpoints", "s")["subsets"] for each in subset["addresses"]] == [
        "10.0.0.3"
    ]
    served.delete("svc", "s")
    served.settle()
    assert names(served, "endpoints") == ["kubernetes"] or names(served, "endpoints") == []


def slices(cluster: simkit.Cluster) -> list[Any]:
    found = cluster.list("endpointslices", "default")
    return [each for each in found if each["metadata"]["labels"].get("kubernetes.io/service-name") == "s"]


def test_slices_follow_pods(served: simkit.Cluster) -> None:
    """A slice without endpoints is there from the start; endpoints tell their zone and their state."""
    [empty] = slices(served)
    assert not empty.get("endpoints")
    backend(served, "a", "10.0.0.1")
    served.settle()
    [found] = slices(served)
    [endpoint] = found["endpoints"]
    assert (endpoint["addresses"], endpoint["zone"], endpoint["conditions"]) == (
        ["10.0.0.1"],
        "z1",
        {"ready": True, "serving": True, "terminating": False},
    )
    assert found["ports"] == [{"name": "http", "protocol": "TCP", "port": 8080}]


def test_slices_hold_a_hundred_and_change_as_little_as_possible(served: simkit.Cluster) -> None:
    """One pod more touches one slice."""
    for number in range(120):
        backend(served, f"p{number:03}", f"10.0.1.{number + 1}")
    served.settle()
    before = {each["metadata"]["name"]: len(each["endpoints"]) for each in slices(served)}
    assert sorted(before.values()) == [20, 100]
    versions = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in slices(served)}
    served.delete("pod", "p119")
    backend(served, "q", "10.0.2.1")
    served.settle()
    changed = [
        each for each in slices(served) if versions.get(each["metadata"]["name"]) != each["metadata"]["resourceVersion"]
    ]
    assert [len(each["endpoints"]) for each in changed] == [20]


def budget(cluster: simkit.Cluster, **spec: Any) -> None:
    cluster.create(
        obj("policy/v1", "PodDisruptionBudget", "b", spec={"selector": {"matchLabels": {"app": "web"}}, **spec})
    )


@pytest.mark.parametrize(
    ("spec", "desired", "allowed"),
    [
        ({"minAvailable": 1}, 1, 2),
        ({"minAvailable": "50%"}, 2, 1),
        ({"maxUnavailable": 1}, 3, 0),
        ({"maxUnavailable": "50%"}, 2, 1),
    ],
)
def test_budgets_count_healthy_pods(cluster: simkit.Cluster, spec: dict[str, Any], desired: int, allowed: int) -> None:
    """Shares are of what the pods' controllers want, here four of which three are ready."""
    cluster.create(workload("Deployment", "d", replicas=4))
    budget(cluster, **spec)
    cluster.settle()
    for name in names(cluster, "pods")[:3]:
        say(cluster, name)
    cluster.settle()
    status = cluster.get("pdb", "b")["status"]
    assert (status["expectedPods"], status["currentHealthy"]) == (4, 3)
    assert (status["desiredHealthy"], status["disruptionsAllowed"]) == (desired, allowed)


def evict(cluster: simkit.Cluster, name: str) -> int:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return cluster.perform(Request.of("POST", f"/api/v1/namespaces/default/pods/{name}/eviction", body)).status


def test_evictions_obey_budgets(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """Each eviction takes one; a pod that was to go and stayed counts again after a while."""
    cluster.create(workload("ReplicaSet", "r", replicas=3))
    budget(cluster, minAvailable=2)
    cluster.settle()
    first, second, _ = names(cluster, "pods")
    for name in names(cluster, "pods"):
        say(cluster, name)
    cluster.settle()
    assert (evict(cluster, first), evict(cluster, second)) == (201, 429)
    cluster.settle()
    assert cluster.get("pdb", "b")["status"]["disruptionsAllowed"] == 0


def test_unready_pods_may_go_where_enough_are_healthy(cluster: simkit.Cluster) -> None:
    """They cost the budget nothing; without a healthy rest only the policy lets them go."""
    cluster.create(workload("ReplicaSet", "r", replicas=2))
    budget(cluster, minAvailable=1)
    cluster.settle()
    healthy, sick = names(cluster, "pods")
    say(cluster, sick, ready=False)
    cluster.settle()
    assert evict(cluster, sick) == 429
    say(cluster, healthy)
    cluster.settle()
    assert evict(cluster, sick) == 201


def test_a_claim_in_use_stays(cluster: simkit.Cluster) -> None:
    """It goes when the last pod on a node that uses it has."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    cluster.create(obj("v1", "PersistentVolumeClaim", "c", spec=wanted))
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    spec = {"nodeName": "n", "volumes": [volume], "containers": [{"name": "c", "image": "i"}]}
    cluster.create(obj("v1", "Pod", "p", spec=spec))
    cluster.delete("pvc", "c")
    cluster.settle()
    assert names(cluster, "pvc") == ["c"]
    cluster.perform(Request.of("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0"))
    cluster.settle()
    assert names(cluster, "pvc") == []


def test_a_bound_volume_stays(cluster: simkit.Cluster) -> None:
    """It goes when it is released."""
    cluster.create(volume("v"))
    cluster.create(wish("c"))
    cluster.settle()
    cluster.delete("pv", "v")
    cluster.settle()
    assert names(cluster, "pv", "") == ["v"]
    cluster.delete("pvc", "c")
    cluster.settle()
    assert names(cluster, "pv", "") == []


def test_pods_of_missing_nodes_are_removed(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """After a quarantine; a node that comes back in time keeps its pods."""
    for name in ("a", "b"):
        spec = {"nodeName": name, "containers": [{"name": "c", "image": "i"}]}
        cluster.create(obj("v1", "Pod", f"on-{name}", spec=spec))
    cluster.settle()
    cluster.create(obj("v1", "Node", "b"))
    clock.advance(41)
    cluster.settle()
    assert names(cluster, "pods") == ["on-b"]


def encoded(**fields: str) -> dict[str, str]:
    return {name.replace("_", "-"): base64.b64encode(value.encode()).decode() for name, value in fields.items()}


def test_bootstrap_tokens_expire_and_sign(making: Any, clock: simkit.SimulatedClock) -> None:
    """A token signs the public configuration until it expires, and is removed then."""
    cluster = making("*", "bootstrapsigner", "tokencleaner")
    data = encoded(
        token_id="abcdef",
        token_secret="0123456789abcdef",
        usage_bootstrap_signing="true",
        expiration="2024-04-17T01:00:00Z",
    )
    meta = {"namespace": "kube-system"}
    cluster.create(
        obj("v1", "Secret", "bootstrap-token-abcdef", meta=meta, type="bootstrap.kubernetes.io/token", data=data)
    )
    cluster.create(
        obj("v1", "ConfigMap", "cluster-info", meta={"namespace": "kube-public"}, data={"kubeconfig": "text"})
    )
    cluster.settle()
    header, empty, mark = cluster.get("cm", "cluster-info", "kube-public")["data"]["jws-kubeconfig-abcdef"].split(".")
    signed = f"{header}.{base64.urlsafe_b64encode(b'text').rstrip(b'=').decode()}".encode()
    digest = hmac.new(b"abcdef.0123456789abcdef", signed, hashlib.sha256).digest()
    assert (empty, mark) == ("", base64.urlsafe_b64encode(digest).rstrip(b"=").decode())
    assert orjson.loads(base64.urlsafe_b64decode(header + "==")) == {"alg": "HS256", "kid": "abcdef"}
    clock.advance(hours=1)
    cluster.settle()
    assert names(cluster, "secrets", "kube-system") == []
    assert cluster.get("cm", "cluster-info", "kube-public")["data"] == {"kubeconfig": "text"}


def test_endpoints_that_people_write_are_mirrored(cluster: simkit.Cluster) -> None:
    """In slices by address family, as long as the service has no selector and nobody objects."""
    cluster.create(obj("v1", "Service", "db", spec={"ports": [{"port": 5432}]}))
    ports = [{"name": "pg", "port": 5432, "protocol": "TCP"}]
    subset = {"addresses": [{"ip": "192.0.2.7"}, {"ip": "2001:db8::7"}], "ports": ports}
    subset["notReadyAddresses"] = [{"ip": "192.0.2.8", "hostname": "second"}]
    cluster.create(obj("v1", "Endpoints", "db", meta={"labels": {"team": "a"}}, subsets=[subset]))
    cluster.settle()
    made = [each for each in cluster.list("endpointslices", "default") if each["metadata"]["name"] != "kubernetes"]
    assert {each["addressType"]: each["endpoints"] for each in made} == {
        "IPv4": [
            {"addresses": ["192.0.2.7"], "conditions": {"ready": True}},
            {"addresses": ["192.0.2.8"], "conditions": {"ready": False}, "hostname": "second"},
        ],
        "IPv6": [{"addresses": ["2001:db8::7"], "conditions": {"ready": True}}],
    }
    assert made[0]["metadata"]["labels"] == {
        "team": "a",
        "kubernetes.io/service-name": "db",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    }
    assert made[0]["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"
    versions = [each["metadata"]["resourceVersion"] for each in made]
    cluster.settle()
    assert versions == [
        each["metadata"]["resourceVersion"]
        for each in cluster.list("endpointslices", "default")
        if each["metadata"]["name"] != "kubernetes"
    ]
    labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    patch(cluster, "/api/v1/namespaces/default/endpoints/db", {"metadata": {"labels": labels}})
    cluster.settle()
    assert names(cluster, "endpointslices") == ["kubernetes"]
