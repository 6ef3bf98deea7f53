"""Pods whose devices have to get ready first: they are bound when drivers say so, and get others where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request
from simkit.schema.behaviour import default_behaviour
from simkit.simulation.scheduler.devices.pools import BindingFailed, is_ready
from tests.simulation.devices import DRIVER, claim, devices_of, make, request, template, user, with_devices
from tests.simulation.worlds import messages, node_of, phase

READY, FAILED = "example.com/Attached", "example.com/Broken"


def attaching(release: str = "1.36", *, count: int = 1, **given: Any) -> Cluster:
    """A cluster with a node whose devices have to be attached."""
    cluster = with_devices(release, nodes=0, count=0, **given)
    device = {"name": "nic-{}", "count": count, "binding_conditions": [READY], "binding_failure_conditions": [FAILED]}
    cluster.add_nodes(1, devices=[{"driver": DRIVER, "devices": [device]}])
    cluster.settle()
    return cluster


def report(cluster: Cluster, name: str, **conditions: str) -> None:
    """Say what the driver says of the first device of a claim: reasons of conditions that are true."""
    found = cluster.get("resourceclaims.resource.k8s.io", name)
    device = found["status"]["allocation"]["devices"]["results"][0]
    told = [
        {
            "type": {"ready": READY, "failed": FAILED}[kind],
            "status": "True",
            "reason": reason,
            "message": "it says so",
            "lastTransitionTime": "2024-04-17T00:00:00Z",
        }
        for kind, reason in conditions.items()
    ]
    devices = [{**{part: device[part] for part in ("driver", "pool", "device")}, "conditions": told}]
    path = f"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/{name}/status"
    answer = cluster.perform(Request.of("PUT", path, {**found, "status": {**found["status"], "devices": devices}}))
    assert answer.succeeded, answer.object


def test_a_pod_is_bound_when_its_device_is_ready() -> None:
    """Until then it has its device and its room on the node; the scheduler looks every five seconds."""
    cluster = attaching(count=2)
    claim(cluster, "c", request())
    cluster.create(user("one", "c", requests={"cpu": "5"}))
    cluster.settle()
    found = cluster.get("resourceclaims.resource.k8s.io", "c")
    allocation, result = found["status"]["allocation"], found["status"]["allocation"]["devices"]["results"][0]
    assert (result["bindingConditions"], result["bindingFailureConditions"]) == ([READY], [FAILED])
    assert allocation["allocationTimestamp"].startswith("2024-04-17T00:00:")
    assert [each["name"] for each in found["status"]["reservedFor"]] == ["one"]
    told = ["waiting for binding conditions for device on node node-0"]
    assert (node_of(cluster, "one"), messages(cluster, "BindingConditionsPending")) == ("", told)
    cluster.create(user("two", requests={"cpu": "5"}))
    cluster.advance(seconds=61)
    assert "1 Insufficient cpu" in messages(cluster, "FailedScheduling")[0]
    report(cluster, "c", ready="Attached")
    cluster.settle()
    assert node_of(cluster, "one") == ""
    cluster.advance(seconds=5)
    assert (phase(cluster, "one"), messages(cluster, "BindingConditionsPending")) == ("Running", told)


def test_a_pod_goes_on_waiting_in_a_fork() -> None:
    """A fork waits from the same moment on, and each hears its own driver."""
    cluster = attaching()
    claim(cluster, "c", request())
    cluster.create(user("one", "c"))
    cluster.advance(seconds=300)
    fork = cluster.fork()
    report(fork, "c", ready="Attached")
    for each in (cluster, fork):
        each.advance(seconds=10)
    assert (node_of(cluster, "one"), node_of(fork, "one")) == ("", "node-0")
    cluster.advance(seconds=295)
    assert any("device binding timeout" in each for each in messages(cluster, "FailedScheduling"))


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.35", 'claim c binding failed: reason=Burnt, message="it says so"'),
        ("1.36", 'device binding failed: claim=c, reason=Burnt, message="it says so"'),
    ],
)
def test_a_pod_whose_device_fails_gets_another(release: str, text: str) -> None:
    """The attempt is an error, the next one takes the device back, and then it is allocated anew."""
    cluster = attaching(release, DRADeviceBindingConditions=True, DRADeviceTaints=True)
    pool = {"name": "spare", "generation": 1, "resourceSliceCount": 1}
    spare = {"driver": DRIVER, "nodeName": "node-0", "pool": pool, "devices": [{"name": "spare"}]}
    claim(cluster, "c", request())
    cluster.create(user("one", "c"))
    cluster.settle()
    report(cluster, "c", failed="Burnt", ready="Attached")
    cluster.advance(seconds=5)
    assert messages(cluster, "FailedScheduling") == [f'running PreBind plugin "DynamicResources": {text}']
    held = cluster.get("resourceclaims.resource.k8s.io", "c")
    assert (devices_of(held), held["status"].get("reservedFor")) == (["nic-0"], None)
    for each in cluster.list("resourceslices.resource.k8s.io"):
        worn = [{**device, "taints": [{"key": "burnt", "effect": "NoSchedule"}]} for device in each["spec"]["devices"]]
        cluster.apply({**each, "spec": {**each["spec"], "devices": worn}})
    make(cluster, "ResourceSlice", "spare", spare)
    cluster.advance(seconds=30)
    assert any(
        "1 resourceclaim not available on the node. deallocation of ResourceClaim completed, " in each
        for each in messages(cluster, "FailedScheduling")
    )
    assert (phase(cluster, "one"), devices_of(cluster.get("resourceclaims.resource.k8s.io", "c"))) == (
        "Running",
        ["spare"],
    )


@pytest.mark.parametrize(
    ("release", "text"),
    [("1.34", "device binding timeout"), ("1.36", "device binding timeout: context deadline exceeded")],
)
def test_a_driver_has_ten_minutes(release: str, text: str) -> None:
    """After that the pod is tried anew, and the time begins again."""
    cluster = attaching(release, DRADeviceBindingConditions=True)
    claim(cluster, "c", request())
    cluster.create(user("one", "c"))
    cluster.advance(seconds=595)
    assert messages(cluster, "FailedScheduling") == []
    first = cluster.get("resourceclaims.resource.k8s.io", "c")["status"]["allocation"]["allocationTimestamp"]
    cluster.advance(seconds=60)
    assert f'running PreBind plugin "DynamicResources": {text}' in messages(cluster, "FailedScheduling")
    allocation = cluster.get("resourceclaims.resource.k8s.io", "c")["status"]["allocation"]
    assert allocation["allocationTimestamp"] > first
    report(cluster, "c", ready="Attached")
    cluster.advance(seconds=10)
    assert phase(cluster, "one") == "Running"


def test_a_pod_that_goes_while_it_waits_leaves_nothing() -> None:
    """Its room and its devices are free again."""
    cluster = attaching()
    template(cluster, "t", request())
    cluster.create(user("one", template="t", requests={"cpu": "5"}))
    cluster.settle()
    cluster.create(user("two", requests={"cpu": "5"}))
    cluster.settle()
    assert phase(cluster, "two") == "Pending"
    cluster.delete("pod", "one")
    cluster.advance(minutes=1)
    assert phase(cluster, "two") == "Running"
    assert cluster.list("resourceclaims.resource.k8s.io", namespace="default") == []


def test_a_claim_that_goes_while_its_pod_waits() -> None:
    """The attempt is an error, other claims are for nobody any more, and a new claim is allocated."""
    cluster = attaching(count=2)
    for name in ("c", "d"):
        claim(cluster, name, request())
    cluster.create(user("one", "c", "d"))
    cluster.settle()
    cluster.delete("resourceclaims.resource.k8s.io", "c")
    cluster.advance(seconds=6)
    text = 'running PreBind plugin "DynamicResources": resourceclaim "c" is being deleted'
    assert messages(cluster, "FailedScheduling") == [text]
    assert "reservedFor" not in cluster.get("resourceclaims.resource.k8s.io", "d")["status"]
    cluster.advance(seconds=30)
    claim(cluster, "c", request())
    cluster.advance(seconds=30)
    for name in ("c", "d"):
        report(cluster, name, ready="Attached")
    cluster.advance(seconds=30)
    assert phase(cluster, "one") == "Running"


def test_devices_that_bind_to_a_node() -> None:
    """A device that all nodes reach is of use on one of them alone once it is allocated."""
    cluster = with_devices(nodes=2, count=0)
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    device = {"name": "far", "bindsToNode": True, "bindingConditions": [READY], "bindingFailureConditions": [FAILED]}
    make(cluster, "ResourceSlice", "far", {"driver": DRIVER, "allNodes": True, "pool": pool, "devices": [device]})
    claim(cluster, "c", request())
    cluster.create(user("one", "c"))
    cluster.settle()
    report(cluster, "c", ready="Attached")
    cluster.advance(seconds=10)
    named = {"key": "metadata.name", "operator": "In", "values": [node_of(cluster, "one")]}
    allocation = cluster.get("resourceclaims.resource.k8s.io", "c")["status"]["allocation"]
    assert allocation["nodeSelector"] == {"nodeSelectorTerms": [{"matchFields": [named]}]}


def test_such_devices_have_a_gate() -> None:
    """Slices of 1.35 keep no conditions, and nobody waits."""
    cluster = attaching("1.35")
    claim(cluster, "c", request())
    cluster.create(user("one", "c"))
    cluster.settle()
    assert phase(cluster, "one") == "Running"
    assert "allocationTimestamp" not in cluster.get("resourceclaims.resource.k8s.io", "c")["status"]["allocation"]


# Against a naive reference

STATES = st.sampled_from(["True", "False", "Unknown"])


@st.composite
def allocated(draw: st.DrawFn) -> dict[str, Any]:
    """A claim with a few devices, of which drivers have told something."""
    results, devices = [], []
    for index in range(draw(st.integers(1, 3))):
        identity = {"driver": DRIVER, "pool": "p", "device": f"d{index}"}
        needed = draw(st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True))
        failing = draw(st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True)) if needed else []
        results.append({**identity, "bindingConditions": needed, "bindingFailureConditions": failing})
        if draw(st.booleans()):
            told = draw(st.dictionaries(st.sampled_from(["a", "b", "c", "x", "y"]), STATES))
            devices.append({**identity, "conditions": [{"type": kind, "status": each} for kind, each in told.items()]})
    status = {"allocation": {"devices": {"results": results}}, "devices": devices}
    return {"metadata": {"name": "c"}, "status": status}


def naive_state(claim: Mapping[str, Any]) -> str:
    """The first device that is not ready decides."""
    told = {each["device"]: each["conditions"] for each in claim["status"]["devices"]}
    results: Sequence[Mapping[str, Any]] = claim["status"]["allocation"]["devices"]["results"]
    for each in results:
        true = {one["type"] for one in told.get(each["device"], ()) if one["status"] == "True"}
        if each["bindingConditions"] and true & set(each["bindingFailureConditions"]):
            return "failed"
        if not set(each["bindingConditions"]) <= true:
            return "waits"
    return "ready"


@given(allocated())
def test_a_claim_is_ready_if_all_devices_are(claim: dict[str, Any]) -> None:
    """Every condition of every device has to be true, and none by which it fails."""
    try:
        state = "ready" if is_ready(default_behaviour("1.36"), claim) else "waits"
    except BindingFailed:
        state = "failed"
    assert state == naive_state(claim)
