"""Dynamic resource allocation: the scheduler gives devices to the claims of pods, and the controller frees them."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request
from tests.simulation.devices import (
    DRIVER,
    claim,
    claims,
    device_class,
    devices_of,
    make,
    request,
    template,
    user,
    with_devices,
)
from tests.simulation.worlds import messages, node_of, phase


def the(cluster: Cluster, name: str) -> Any:
    """A claim."""
    return cluster.get("resourceclaims.resource.k8s.io", name)


@pytest.mark.parametrize("release", ["1.32", "1.33", "1.34", "1.36"])
def test_pods_get_devices_of_their_own(release: str) -> None:
    """In each version of the API, a claim is made for every pod, and who comes too late waits until a pod has gone."""
    cluster = with_devices(release)
    template(cluster, "one", request())
    for number in range(5):
        cluster.create(user(f"p{number}", template="one"))
    cluster.settle()
    running = [f"p{number}" for number in range(5) if phase(cluster, f"p{number}") == "Running"]
    assert len(running) == 4
    given = {
        (node_of(cluster, each["metadata"]["ownerReferences"][0]["name"]), *devices_of(each))
        for each in claims(cluster)
    }
    assert {each for each in given if len(each) > 1} == {
        (node, device) for node in ("node-0", "node-1") for device in ("gpu-0", "gpu-1")
    }
    assert messages(cluster, "FailedScheduling") == [
        "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: 0/2 nodes are "
        "available: 2 Preemption is not helpful for scheduling."
    ]
    told = cluster.get("pod", running[0])["status"]["resourceClaimStatuses"]
    held = the(cluster, told[0]["resourceClaimName"])
    assert held["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert held["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] == "gpu"
    assert [each["name"] for each in held["status"]["reservedFor"]] == [running[0]]
    cluster.delete("pod", running[0])
    cluster.advance(minutes=1)
    assert (
        sum(phase(cluster, each["metadata"]["name"]) == "Running" for each in cluster.list("pods", namespace="default"))
        == 4
    )
    assert len(claims(cluster)) == 4


def test_a_shared_claim_keeps_its_devices_until_the_last_pod_ends() -> None:
    """Pods that name a claim are all on its node; then the claim has no devices, and is still there."""
    cluster = with_devices(nodes=3)
    claim(cluster, "shared", request(count=2))
    cluster.create(user("one", "shared"))
    cluster.create(user("two", "shared"))
    cluster.settle()
    assert node_of(cluster, "one") == node_of(cluster, "two") != ""
    assert len(the(cluster, "shared")["status"]["reservedFor"]) == 2
    cluster.delete("pod", "one")
    cluster.settle()
    assert len(devices_of(the(cluster, "shared"))) == 2
    cluster.delete("pod", "two")
    cluster.settle()
    assert the(cluster, "shared")["status"] == {}
    assert not the(cluster, "shared")["metadata"].get("finalizers")


def test_a_claim_is_freed_when_its_pod_has_ended() -> None:
    """A pod that is done needs no devices, although it is not deleted; the claim that was made for it goes."""
    cluster = with_devices(nodes=1, count=1)
    template(cluster, "one", request())
    for number in range(3):
        cluster.create(
            user(f"job-{number}", template="one", image="busybox", command=["sleep", "5"], restartPolicy="Never")
        )
    cluster.settle()
    cluster.advance(minutes=2)
    assert [phase(cluster, f"job-{number}") for number in range(3)] == ["Succeeded"] * 3
    assert claims(cluster) == []


def test_a_pod_waits_silently_for_its_claim() -> None:
    """Who names a claim or template that is missing is not tried; the controller tells of the template."""
    cluster = with_devices(nodes=1)
    cluster.create(user("early", "later"))
    cluster.create(user("lost", template="nothing"))
    cluster.settle()
    assert messages(cluster, "FailedScheduling") == []
    assert "conditions" not in cluster.get("pod", "early")["status"]
    assert messages(cluster, "FailedResourceClaimCreation")[0] == (
        'PodResourceClaim gpu: resource claim template "nothing": resourceclaimtemplate.resource.k8s.io "nothing" not found'
    )
    claim(cluster, "later", request())
    template(cluster, "nothing", request())
    cluster.settle()
    assert phase(cluster, "early") == phase(cluster, "lost") == "Running"


def test_a_class_that_is_missing_is_told() -> None:
    """No node is looked at then; the pod runs once the class is there."""
    cluster = with_devices(nodes=1)
    claim(cluster, "odd", {"name": "r", "exactly": {"deviceClassName": "odd"}})
    cluster.create(user("one", "odd"))
    cluster.settle()
    assert messages(cluster, "FailedScheduling")[0].startswith(
        "0/1 nodes are available: request r: device class odd does not exist. no new claims to deallocate, preemption: "
    )
    device_class(cluster, "odd")
    cluster.advance(seconds=30)
    assert phase(cluster, "one") == "Running"


def test_selectors_of_class_and_request_both_count() -> None:
    """Attributes, capacities and versions are compared; attributes of an unknown domain are none."""
    cluster = with_devices(nodes=1, count=4)
    device_class(cluster, "big", f"device.capacity['{DRIVER}'].memory.compareTo(quantity('20Gi')) > 0")
    spec = {
        "deviceClassName": "big",
        "selectors": [
            {"cel": {"expression": f"device.attributes['{DRIVER}'].model == 'b' && !has(device.attributes['x.y'].z)"}}
        ],
    }
    claim(cluster, "second", {"name": "r", "exactly": {**spec, "count": 2}})
    cluster.create(user("one", "second"))
    cluster.settle()
    assert devices_of(the(cluster, "second")) == ["gpu-1", "gpu-3"]


def test_an_expression_that_fails_is_an_error_of_the_scheduler() -> None:
    """A missing attribute stops the attempt, which is made again after a pause."""
    cluster = with_devices(nodes=1)
    claim(cluster, "wrong", request("gpu", f"device.attributes['{DRIVER}'].nothing == 'a'"))
    cluster.create(user("one", "wrong"))
    cluster.settle()
    text = 'running "DynamicResources" filter plugin: claim default/wrong: selector #0: CEL runtime error: '
    assert messages(cluster, "FailedScheduling")[0] == f"{text}no such key: nothing"
    condition = cluster.get("pod", "one")["status"]["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "SchedulerError")


@pytest.mark.parametrize(
    ("requests", "more", "found"),
    [
        ([request(allocationMode="All")], {}, ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]),
        ([request("x", f"device.attributes['{DRIVER}'].model == 'b'"), request("y")], {}, ["gpu-1", "gpu-0"]),
        (
            [request("x", f"device.attributes['{DRIVER}'].model == 'b'"), request("y")],
            {"constraints": [{"matchAttribute": f"{DRIVER}/model"}]},
            ["gpu-1", "gpu-3"],
        ),
        ([request(count=2)], {"constraints": [{"matchAttribute": f"{DRIVER}/socket"}]}, ["gpu-0", "gpu-1"]),
        ([request(count=3)], {"constraints": [{"matchAttribute": f"{DRIVER}/socket"}]}, []),
        ([request(count=2)], {"constraints": [{"distinctAttribute": f"{DRIVER}/socket"}]}, ["gpu-0", "gpu-2"]),
        (
            [
                {
                    "name": "r",
                    "firstAvailable": [
                        {"name": "many", "deviceClassName": "gpu", "count": 5},
                        {"name": "few", "deviceClassName": "gpu", "count": 2},
                    ],
                }
            ],
            {},
            ["gpu-0", "gpu-1"],
        ),
    ],
)
def test_requests_are_met_in_order(requests: list[dict[str, Any]], more: dict[str, Any], found: list[str]) -> None:
    """The first devices are taken with which all requests and constraints are met."""
    cluster = with_devices(nodes=1, count=4)
    claim(cluster, "c", *requests, **more)
    cluster.create(user("one", "c"))
    cluster.settle()
    assert devices_of(the(cluster, "c")) == found
    if "firstAvailable" in requests[0]:
        results = the(cluster, "c")["status"]["allocation"]["devices"]["results"]
        assert [each["request"] for each in results] == ["r/few", "r/few"]


@pytest.mark.parametrize(("release", "node"), [("1.34", "old-0"), ("1.36", "new-0")])
def test_earlier_alternatives_are_preferred(release: str, node: str) -> None:
    """A node with the first alternative is chosen though it has a little less room, where the release scores that."""
    cluster = with_devices(release, nodes=0, count=0)
    for name, model in (("old", "a"), ("new", "b")):
        device = {"name": "gpu", "attributes": {"model": model}}
        cluster.add_nodes(1, name=f"{name}-{{}}", devices=[{"driver": DRIVER, "devices": [device]}])
    cluster.settle()
    for model in ("b", "a"):
        device_class(cluster, model, f"device.attributes['{DRIVER}'].model == '{model}'")
    choices = [{"name": each, "deviceClassName": each} for each in ("b", "a")]
    claim(cluster, "c", {"name": "r", "firstAvailable": choices})
    load = {"cpu": "500m", "memory": "2Gi"}
    cluster.create(user("load", requests=load, nodeSelector={"kubernetes.io/hostname": "new-0"}))
    cluster.settle()
    cluster.create(user("one", "c"))
    cluster.settle()
    assert node_of(cluster, "one") == node


def test_an_administrator_gets_devices_in_use() -> None:
    """With admin access, all devices of a node are allocated once more, which nobody misses."""
    cluster = with_devices(nodes=1)
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "default", "labels": {"resource.kubernetes.io/admin-access": "true"}},
        }
    )
    claim(cluster, "look", request(allocationMode="All", adminAccess=True))
    claim(cluster, "use", request(count=2))
    cluster.create(user("admin", "look"))
    cluster.settle()
    cluster.create(user("one", "use"))
    cluster.settle()
    assert phase(cluster, "admin") == phase(cluster, "one") == "Running"
    assert all(each["adminAccess"] for each in the(cluster, "look")["status"]["allocation"]["devices"]["results"])


def test_configuration_of_class_and_claim_is_told() -> None:
    """That of a class names its requests where others are there, that of a claim what it says."""
    cluster = with_devices(nodes=1, count=4)
    given = {"opaque": {"driver": DRIVER, "parameters": {"kind": "X"}}}
    device_class(cluster, "tuned", config=[given])
    tuned = {"name": "t", "exactly": {"deviceClassName": "tuned"}}
    claim(cluster, "c", tuned, request("u"), config=[{"requests": ["u"], **given}, given])
    cluster.create(user("one", "c"))
    cluster.settle()
    config = the(cluster, "c")["status"]["allocation"]["devices"]["config"]
    assert [(each["source"], each.get("requests")) for each in config] == [
        ("FromClass", ["t"]),
        ("FromClaim", ["u"]),
        ("FromClaim", None),
    ]


def test_taints_keep_requests_away() -> None:
    """A tainted device goes to who tolerates it, from the release on in which taints of devices count."""
    cluster = with_devices(nodes=0, count=0)
    tainted = {"name": "worn", "taints": [{"key": "worn", "value": "yes", "effect": "NoSchedule"}]}
    cluster.add_nodes(1, devices=[{"driver": DRIVER, "devices": [tainted]}])
    cluster.settle()
    claim(cluster, "plain", request())
    tolerations = [{"key": "worn", "operator": "Exists", "effect": "NoSchedule"}]
    claim(cluster, "tolerant", request(tolerations=tolerations))
    cluster.create(user("one", "plain"))
    cluster.create(user("two", "tolerant"))
    cluster.settle()
    assert (phase(cluster, "one"), phase(cluster, "two")) == ("Pending", "Running")
    result = the(cluster, "tolerant")["status"]["allocation"]["devices"]["results"][0]
    assert result["tolerations"] == tolerations


def test_parts_of_a_card_share_its_memory() -> None:
    """Devices of one counter set are allocated as long as the counters last."""
    cluster = with_devices(nodes=1, count=0)
    pool = {"name": "cards", "generation": 1, "resourceSliceCount": 2}
    head = {"driver": DRIVER, "nodeName": "node-0", "pool": pool}
    counters = [{"name": "card", "counters": {"memory": {"value": "40Gi"}}}]
    make(cluster, "ResourceSlice", "counters", {**head, "sharedCounters": counters})
    devices = [
        {"name": f"part-{index}", "consumesCounters": [{"counterSet": "card", "counters": {"memory": {"value": size}}}]}
        for index, size in enumerate(("30Gi", "20Gi", "20Gi", "10Gi"))
    ]
    make(cluster, "ResourceSlice", "parts", {**head, "devices": devices})
    claim(cluster, "two", request(count=2))
    claim(cluster, "more", request())
    cluster.create(user("one", "two"))
    cluster.settle()
    cluster.create(user("other", "more"))
    cluster.settle()
    assert devices_of(the(cluster, "two")) == ["part-0", "part-3"]
    assert phase(cluster, "other") == "Pending"


def test_devices_that_every_node_reaches() -> None:
    """Slices for all nodes restrict a claim to none, those with a selector to the nodes that it means."""
    cluster = with_devices(nodes=2, count=0)
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    make(
        cluster,
        "ResourceSlice",
        "far",
        {"driver": DRIVER, "allNodes": True, "pool": pool, "devices": [{"name": "far"}]},
    )
    claim(cluster, "c", request())
    cluster.create(user("one", "c"))
    cluster.settle()
    assert "nodeSelector" not in the(cluster, "c")["status"]["allocation"]
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1"]}]}
    near = {"driver": DRIVER, "nodeSelector": {"nodeSelectorTerms": [term]}, "pool": {**pool, "name": "q"}}
    make(cluster, "ResourceSlice", "near", {**near, "devices": [{"name": "near"}]})
    claim(cluster, "d", request())
    cluster.create(user("two", "d"))
    cluster.settle()
    assert the(cluster, "d")["status"]["allocation"]["nodeSelector"] == {"nodeSelectorTerms": [term]}
    assert node_of(cluster, "two") == "node-1"


def test_a_pool_that_is_being_replaced() -> None:
    """Slices of an older generation do not count; with one missing the pool gives nothing, and all of it is an error."""
    cluster = with_devices(nodes=1, count=0)
    head = {"driver": DRIVER, "nodeName": "node-0"}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    make(cluster, "ResourceSlice", "old", {**head, "pool": pool, "devices": [{"name": "old"}]})
    newer = {**pool, "generation": 2, "resourceSliceCount": 2}
    make(cluster, "ResourceSlice", "new-0", {**head, "pool": newer, "devices": [{"name": "new-0"}]})
    claim(cluster, "c", request())
    claim(cluster, "all", request(allocationMode="All"))
    cluster.create(user("one", "c"))
    cluster.settle()
    assert phase(cluster, "one") == "Pending"
    cluster.create(user("two", "all"))
    cluster.settle()
    assert "asks for all devices, but resource pool gpu.example.com/p is currently being updated" in str(
        messages(cluster, "FailedScheduling")
    )
    make(cluster, "ResourceSlice", "new-1", {**head, "pool": newer, "devices": [{"name": "new-1"}]})
    cluster.advance(seconds=30)
    assert devices_of(the(cluster, "c")) == ["new-0"]


def test_an_idle_claim_is_taken_back() -> None:
    """A claim with devices on a node where its next pod may not run loses them, and gets others."""
    cluster = with_devices(nodes=2)
    claim(cluster, "c", request())
    cluster.create(user("one", "c", nodeSelector={"kubernetes.io/hostname": "node-0"}))
    cluster.settle()
    idle = the(cluster, "c")
    status = {"allocation": idle["status"]["allocation"]}
    cluster.delete("pod", "one")
    cluster.settle()
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status"
    assert cluster.perform(Request.of("PUT", path, {**the(cluster, "c"), "status": status})).succeeded
    cluster.create(user("two", "c", nodeSelector={"kubernetes.io/hostname": "node-1"}))
    cluster.advance(seconds=30)
    assert "deallocation of ResourceClaim completed, preemption: " in messages(cluster, "FailedScheduling")[0]
    assert (phase(cluster, "two"), node_of(cluster, "two")) == ("Running", "node-1")


def test_forks_know_what_is_allocated() -> None:
    """In a fork the devices of the origin are in use, and what it allocates itself is its own."""
    cluster = with_devices(nodes=1)
    template(cluster, "one", request())
    cluster.create(user("a", template="one"))
    cluster.settle()
    fork = cluster.fork()
    for name in ("b", "c"):
        fork.create(user(name, template="one"))
    fork.settle()
    assert sorted((phase(fork, "b"), phase(fork, "c"))) == ["Pending", "Running"]
    assert len(claims(cluster)) == 1


def test_slices_of_a_node_go_with_it() -> None:
    """The devices of a node are published in slices of 64, which its deletion removes."""
    cluster = with_devices(nodes=0, count=0)
    cluster.add_nodes(
        1,
        devices=[
            {"driver": DRIVER, "devices": [{"name": "g", "count": 100, "attributes": {"v": {"version": "1.2.3"}}}]}
        ],
    )
    slices = cluster.list("resourceslices.resource.k8s.io")
    assert sorted(len(each["spec"]["devices"]) for each in slices) == [36, 64]
    assert {each["spec"]["pool"]["resourceSliceCount"] for each in slices} == {2}
    cluster.delete("node", "node-0")
    cluster.settle()
    assert cluster.list("resourceslices.resource.k8s.io") == []


def test_devices_need_a_release_that_serves_them() -> None:
    """At 1.30 nobody could use the slices, which is said."""
    cluster = Cluster(options=Options(release="1.30"))
    with pytest.raises(
        SimkitError, match=r"resourceslices.resource.k8s.io are not served; release 1.34 and later serve it"
    ):
        cluster.add_nodes(1, devices=[{"driver": DRIVER, "devices": [{"name": "g"}]}])


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.35", "0/1 nodes are available: 1 timed out trying to allocate devices. "),
        ("1.36", 'running "DynamicResources" filter plugin: node node-0: timed out trying to allocate devices'),
    ],
)
def test_search_without_end_is_given_up(release: str, text: str) -> None:
    """Many requests that cannot be met together end with a verdict, as kube-scheduler gives up by time."""
    cluster = with_devices(release, nodes=1, count=40)
    parts = [request(f"r{index}") for index in range(30)]
    claim(cluster, "c", *parts, request("last", count=2), constraints=[{"matchAttribute": f"{DRIVER}/model"}])
    cluster.create(user("one", "c"))
    cluster.settle()
    assert messages(cluster, "FailedScheduling")[0].startswith(text)


def test_a_pod_that_names_its_node_needs_its_devices_too() -> None:
    """Nobody gives it any without the scheduler: its kubelet does not start it, and says why."""
    cluster = with_devices(nodes=1)
    claim(cluster, "mine", request())
    cluster.create(user("p", "mine", nodeName="node-0"))
    cluster.create(user("q", "gone", nodeName="node-0"))
    cluster.advance(seconds=5)
    assert [phase(cluster, name) for name in "pq"] == ["Pending", "Pending"]
    ids = {name: found["metadata"]["uid"] for name in ("p", "q") for found in [cluster.get("pod", name)]}
    whole = "Failed to prepare dynamic resources: prepare dynamic resources: "
    uid = the(cluster, "mine")["metadata"]["uid"]
    assert set(messages(cluster, "FailedPrepareDynamicResources")) == {
        f"{whole}pod p ({ids['p']}) is not allowed to use ResourceClaim mine ({uid})",
        f'{whole}fetch ResourceClaim gone: resourceclaims.resource.k8s.io "gone" not found',
    }
