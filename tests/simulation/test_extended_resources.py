"""Extended resources of pods that are met by devices: a class backs them where a node does not have them itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.cluster.cluster import Cluster
from simkit.logic.workloads.extended_resources import backing_classes, extended_requests
from simkit.meta.errors import StatusError
from tests.simulation.devices import DRIVER, claim, claims, device_class, devices_of, request, user, with_devices
from tests.simulation.worlds import messages, node_of, phase, pod

GPU = "example.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


def backing(release: str = "1.36", **given: Any) -> Cluster:
    """A cluster with devices whose class backs a resource."""
    cluster = with_devices(release, **given)
    device_class(cluster, "cards", f"device.driver == '{DRIVER}'", extendedResourceName=GPU)
    cluster.settle()
    return cluster


def asking(name: str, amount: str = "1", resource: str = GPU, **spec: Any) -> dict[str, Any]:
    """A pod that asks for an extended resource."""
    amounts = {resource: amount}
    return pod(name, container={"resources": {"requests": amounts, "limits": amounts}}, **spec)


def test_a_class_backs_a_resource() -> None:
    """The scheduler makes a claim, tells the pod of it, and the claim goes with the pod; who waits gets the devices."""
    cluster = backing(nodes=1)
    cluster.create(asking("one", "2"))
    cluster.settle()
    cluster.create(asking("two"))
    cluster.settle()
    assert (phase(cluster, "one"), phase(cluster, "two")) == ("Running", "Pending")
    (held,) = claims(cluster)
    meta = held["metadata"]
    assert meta["name"].startswith("one-extended-resources-")
    assert meta["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert [(each["name"], each["controller"]) for each in meta["ownerReferences"]] == [("one", True)]
    name = "container-0-request-0"
    exactly = {"deviceClassName": "cards", "allocationMode": "ExactCount", "count": 2}
    assert held["spec"]["devices"]["requests"] == [{"name": name, "exactly": exactly}]
    assert devices_of(held) == ["gpu-0", "gpu-1"]
    assert [each["name"] for each in held["status"]["reservedFor"]] == ["one"]
    assert cluster.get("pod", "one")["status"]["extendedResourceClaimStatus"] == {
        "requestMappings": [{"containerName": "main", "resourceName": GPU, "requestName": name}],
        "resourceClaimName": meta["name"],
    }
    assert "1 cannot allocate all claims" in messages(cluster, "FailedScheduling")[0]
    cluster.delete("pod", "one")
    cluster.advance(minutes=1)
    assert phase(cluster, "two") == "Running"
    assert [each["metadata"]["ownerReferences"][0]["name"] for each in claims(cluster)] == ["two"]


def test_the_claim_goes_when_the_pod_is_done() -> None:
    """A pod that has succeeded needs no devices any more, although it is still there."""
    cluster = backing(nodes=1, count=1)
    for name in ("a", "b"):
        cluster.create(asking(name, command=["sleep", "5"], image="busybox", restartPolicy="Never"))
    cluster.advance(minutes=2)
    assert [phase(cluster, name) for name in ("a", "b")] == ["Succeeded", "Succeeded"]
    assert claims(cluster) == []


def test_every_class_backs_a_resource_of_its_own_name() -> None:
    """No field of the class is needed for it."""
    cluster = with_devices(nodes=1)
    cluster.create(asking("one", resource=IMPLICIT))
    cluster.settle()
    assert phase(cluster, "one") == "Running"
    assert devices_of(claims(cluster)[0]) == ["gpu-0"]


def test_a_node_that_has_the_resource_needs_no_devices() -> None:
    """A device plugin counts first: its node is not asked for devices, and another node gives them."""
    cluster = backing(nodes=1)
    cluster.add_nodes(1, name="plugin-{}", capacity={GPU: "1"})
    cluster.settle()
    cluster.create(asking("there", nodeSelector={"kubernetes.io/hostname": "plugin-0"}))
    cluster.settle()
    assert (node_of(cluster, "there"), claims(cluster)) == ("plugin-0", [])
    cluster.create(asking("here"))
    cluster.settle()
    assert (node_of(cluster, "here"), len(claims(cluster))) == ("node-0", 1)
    cluster.create(asking("most", "2", nodeSelector={"kubernetes.io/hostname": "plugin-0"}))
    cluster.settle()
    assert f"1 Insufficient {GPU}" in messages(cluster, "FailedScheduling")[0]


def test_a_class_that_comes_later_helps() -> None:
    """What was found out about nodes before it is forgotten."""
    cluster = with_devices(nodes=1)
    cluster.create(asking("one"))
    cluster.settle()
    assert f"1 Insufficient {GPU}" in messages(cluster, "FailedScheduling")[0]
    device_class(cluster, "cards", extendedResourceName=GPU)
    cluster.advance(seconds=30)
    assert phase(cluster, "one") == "Running"


@pytest.mark.parametrize(
    ("release", "gates", "runs"), [("1.34", {}, False), ("1.35", {"DRAExtendedResource": True}, True)]
)
def test_it_has_a_gate(release: str, gates: dict[str, bool], runs: bool) -> None:
    """Without it, nobody has the resource."""
    cluster = backing(release, nodes=1, **gates)
    cluster.create(asking("one"))
    cluster.settle()
    assert (phase(cluster, "one") == "Running") is runs


def test_claims_of_a_pod_and_its_resources_get_different_devices() -> None:
    """Both are allocated together, or none."""
    cluster = backing(nodes=1, count=3)
    claim(cluster, "own", request(count=2))
    made = asking("one")
    made["spec"]["resourceClaims"] = user("x", "own")["spec"]["resourceClaims"]
    cluster.create(made)
    cluster.settle()
    assert phase(cluster, "one") == "Running"
    assert sorted(device for each in claims(cluster) for device in devices_of(each)) == ["gpu-0", "gpu-1", "gpu-2"]


def test_a_claim_of_an_earlier_attempt_is_deleted() -> None:
    """The pod then gets a new one; until that, no node is for it."""
    cluster = backing(nodes=1)
    cluster.create(asking("one", schedulingGates=[{"name": "example.com/wait"}]))
    found = cluster.get("pod", "one")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "one", "uid": found["metadata"]["uid"], "controller": True}
    meta = {
        "name": "left",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [owner],
        "finalizers": ["resource.kubernetes.io/delete-protection"],
    }
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "cards"}}]}}
    cluster.create({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta, "spec": spec})
    cluster.apply({**cluster.get("pod", "one"), "spec": {**found["spec"], "schedulingGates": []}})
    cluster.advance(seconds=30)
    assert messages(cluster, "FailedScheduling")[-1].startswith(
        "0/1 nodes are available: 1 cannot schedule extended resource claim. deletion of ResourceClaim completed, "
    )
    assert phase(cluster, "one") == "Running"
    assert [each["metadata"]["name"] != "left" for each in claims(cluster)] == [True]


def test_the_newer_of_two_classes_backs_a_resource() -> None:
    """Of equally old ones it is that with the lower name."""

    def named(name: str, created: str) -> dict[str, Any]:
        meta = {"name": name, "creationTimestamp": f"2026-01-01T00:00:0{created}Z"}
        return {"metadata": meta, "spec": {"extendedResourceName": GPU}}

    assert backing_classes([named("a", "1"), named("b", "2")])[GPU] == "b"
    assert backing_classes([named("c", "2"), named("b", "2"), named("d", "1")])[GPU] == "b"


def test_quotas_count_devices() -> None:
    """Pods and claims share the limit of a resource that devices back; what the scheduler makes for a pod is free."""
    cluster = backing(nodes=1, count=8)
    hard = {f"requests.{GPU}": "3", "cards.deviceclass.resource.k8s.io/devices": "3"}
    cluster.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}})
    cluster.settle()
    cluster.create(asking("one", "2"))
    cluster.settle()
    assert (phase(cluster, "one"), len(claims(cluster))) == ("Running", 1)
    assert set(cluster.get("resourcequota", "q")["status"]["used"].values()) == {"2"}
    text = f"exceeded quota: q, requested: requests.{GPU}=2, used: requests.{GPU}=2, limited: requests.{GPU}=3"
    with pytest.raises(StatusError, match=text):
        cluster.create(asking("two", "2"))
    wanted = {"deviceClassName": "cards", "count": 2}
    with pytest.raises(
        StatusError, match="requested: cards.deviceclass.resource.k8s.io/devices=2,".replace(".", r"\.")
    ):
        claim(cluster, "more", {"name": "r", "exactly": wanted})
    claim(cluster, "last", {"name": "r", "exactly": {**wanted, "count": 1}})
    cluster.settle()
    assert set(cluster.get("resourcequota", "q")["status"]["used"].values()) == {"3"}


# Against a naive reference

KINDS = ["init", "sidecar", "main"]


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """A pod whose containers ask for two resources."""
    kinds = sorted(draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5)), key=lambda each: each == "main")
    found: dict[str, list[dict[str, Any]]] = {"initContainers": [], "containers": []}
    for index, kind in enumerate(kinds):
        requests = {
            name: str(draw(st.integers(0, 3))) for name in draw(st.sets(st.sampled_from([GPU, IMPLICIT, "cpu"])))
        }
        container: dict[str, Any] = {"name": f"c{index}", "resources": {"requests": requests}}
        if kind == "sidecar":
            container["restartPolicy"] = "Always"
        found["containers" if kind == "main" else "initContainers"].append(container)
    return {"metadata": {"name": "p"}, "spec": found}


def needed(found: Mapping[str, Any], resource: str) -> int:
    """The devices that a pod needs at once: of all containers that last, and of an init container beside sidecars."""

    def asks(container: Mapping[str, Any]) -> int:
        return int(container["resources"]["requests"].get(resource, "0"))

    starting: Sequence[Mapping[str, Any]] = found["spec"]["initContainers"]
    lasting = [each for each in starting if "restartPolicy" in each]
    most = sum(map(asks, [*lasting, *found["spec"]["containers"]]))
    for index, each in enumerate(starting):
        if "restartPolicy" not in each:
            before = sum(asks(one) for one in starting[:index] if "restartPolicy" in one)
            most = max(most, before + asks(each))
    return most


@given(pods())
def test_containers_get_what_they_ask_for(found: dict[str, Any]) -> None:
    """The devices of its requests are as many as a container asks for, those that last share none, none is left over."""
    backed = {GPU: "a", IMPLICIT: "b"}
    made = extended_requests(found, backed)
    counts = {each["name"]: each["exactly"]["count"] for each in made.requests}
    assert list(counts) == sorted(counts)
    assert len(counts) == len(made.requests)
    every = [*found["spec"]["initContainers"], *found["spec"]["containers"]]
    for container, resource in product(every, backed):
        mapped = list(_requests_of(container["name"], resource, made.mappings))
        assert len(set(mapped)) == len(mapped)
        asked = int(container["resources"]["requests"].get(resource, "0"))
        assert sum(counts[name] for name in mapped) >= asked
        lasting = container.get("restartPolicy") == "Always" or container in found["spec"]["containers"]
        if lasting:
            assert sum(counts[name] for name in mapped) == asked
    for resource, name in backed.items():
        classes = [each for each in made.requests if each["exactly"]["deviceClassName"] == name]
        assert sum(each["exactly"]["count"] for each in classes) == needed(found, resource)


def _requests_of(container: str, resource: str, mappings: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for each in mappings:
        if (each["containerName"], each["resourceName"]) == (container, resource):
            yield each["requestName"]
