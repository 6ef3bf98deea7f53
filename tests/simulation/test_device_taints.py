"""Taints of devices: pods that use one have to go unless they tolerate it, and rules taint devices of others."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from tests.simulation.devices import DRIVER, claim, claims, devices_of, request, template, user, with_devices
from tests.simulation.worlds import messages, phase

RULES = {"1.34": "v1alpha3", "1.35": "v1alpha3", "1.36": "v1beta2"}
"""The version of rules that a release can serve."""
WORN = {"key": "worn", "value": "yes", "effect": "NoExecute"}
KIND = "devicetaintrules.resource.k8s.io"


def with_rules(release: str = "1.36", **given: Any) -> Cluster:
    """A cluster that serves rules for taints."""
    gates = {"DRADeviceTaints": True} if release == "1.34" else {"DRADeviceTaints": True, "DRADeviceTaintRules": True}
    return with_devices(release, served=[RULES[release]], **given, **gates)


def rule(cluster: Cluster, name: str, selector: dict[str, Any] | None, **taint: Any) -> None:
    """Create a rule, or replace one."""
    spec: dict[str, Any] = {"taint": {**WORN, **taint}}
    if selector is not None:
        spec["deviceSelector"] = selector
    version = f"resource.k8s.io/{RULES[cluster.release]}"
    cluster.apply({"apiVersion": version, "kind": "DeviceTaintRule", "metadata": {"name": name}, "spec": spec})


def tainted(cluster: Cluster, **taint: Any) -> None:
    """Taint all devices of the nodes, as a driver does."""
    for each in cluster.list("resourceslices.resource.k8s.io"):
        devices = [{**device, "taints": [{**WORN, **taint}]} for device in each["spec"]["devices"]]
        cluster.apply({**each, "spec": {**each["spec"], "devices": devices}})


def there(cluster: Cluster, name: str) -> bool:
    """True if a pod still is there."""
    return any(each["metadata"]["name"] == name for each in cluster.list("pods", namespace="default"))


def condition(cluster: Cluster, name: str = "rule") -> tuple[str, str, str]:
    """Status, reason and message of a rule's condition."""
    found = cluster.get(KIND, name)["status"]["conditions"]
    assert [each["type"] for each in found] == ["EvictionInProgress"]
    return found[0]["status"], found[0]["reason"], found[0].get("message", "")


def test_pods_go_from_devices_that_wear_out() -> None:
    """A pod goes at once, at the end of its toleration, or not at all; one without the effect keeps no pod."""
    cluster = with_devices(nodes=1, count=5)
    tolerations = {
        "none": [],
        "endless": [{"key": "worn", "operator": "Exists", "effect": "NoExecute"}],
        "patient": [
            {"key": "worn", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
            {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 90},
        ],
        "vague": [{"key": "worn", "operator": "Exists"}],
        "other": [{"key": "worn", "value": "no", "effect": "NoExecute"}],
    }
    for name, each in tolerations.items():
        claim(cluster, name, request(tolerations=each))
        made = user(name, name)
        made["metadata"]["finalizers"] = ["example.com/seen"] if name == "none" else []
        cluster.create(made)
    cluster.settle()
    assert all(phase(cluster, name) == "Running" for name in tolerations)
    tainted(cluster, effect="NoSchedule")
    cluster.advance(minutes=2)
    assert all(there(cluster, name) for name in tolerations)
    tainted(cluster)
    cluster.settle()
    going = cluster.get("pod", "none")
    told = next(each for each in going["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert (told["reason"], told["message"]) == (
        "DeletionByDeviceTaintManager",
        "Device Taint manager: deleting due to NoExecute taint",
    )
    going = cluster.get("pod", "none")
    cluster.apply({**going, "metadata": {**going["metadata"], "finalizers": []}})
    cluster.advance(seconds=50)
    assert [name for name in tolerations if there(cluster, name)] == ["endless", "patient"]
    assert "deletionTimestamp" not in cluster.get("pod", "patient")["metadata"]
    cluster.advance(seconds=50)
    assert [name for name in tolerations if there(cluster, name)] == ["endless"]
    assert messages(cluster, "DeviceTaintManagerEviction") == ["Marking for deletion"] * 4


def test_a_taint_that_goes_in_time_harms_nobody() -> None:
    """The end of a toleration is forgotten then, which an event tells."""
    cluster = with_devices(nodes=1, count=1)
    tolerations = [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}]
    claim(cluster, "c", request(tolerations=tolerations))
    cluster.create(user("one", "c"))
    cluster.settle()
    tainted(cluster)
    cluster.advance(seconds=30)
    fork = cluster.fork()
    tainted(cluster, effect="NoSchedule")
    cluster.advance(seconds=60)
    assert phase(cluster, "one") == "Running"
    assert messages(cluster, "DeviceTaintManagerEviction") == ["Cancelling deletion"]
    fork.advance(seconds=60)
    assert not there(fork, "one")


def test_no_pod_goes_where_taints_of_devices_do_not_count() -> None:
    """With the gate off, the field is dropped, and nobody looks."""
    cluster = with_devices("1.35", nodes=1, count=1)
    claim(cluster, "c", request())
    cluster.create(user("one", "c"))
    cluster.settle()
    tainted(cluster)
    cluster.advance(minutes=2)
    assert phase(cluster, "one") == "Running"


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36"])
def test_rules_taint_devices(release: str) -> None:
    """A rule keeps new pods from a device and drives its users away; who waits gets it when the rule is gone."""
    cluster = with_rules(release, nodes=1, count=2)
    template(cluster, "one", request())
    cluster.create(user("a", template="one"))
    cluster.settle()
    (first,) = devices_of(claims(cluster)[0])
    rule(cluster, "rule", {"driver": DRIVER, "device": first})
    cluster.advance(minutes=1)
    assert not there(cluster, "a")
    cluster.create(user("b", template="one"))
    cluster.create(user("c", template="one"))
    cluster.advance(minutes=1)
    running = [name for name in "bc" if phase(cluster, name) == "Running"]
    assert len(running) == 1
    assert [devices_of(each) for each in claims(cluster) if devices_of(each)] == [
        ["gpu-1" if first == "gpu-0" else "gpu-0"]
    ]
    cluster.delete(KIND, "rule")
    cluster.advance(minutes=1)
    assert [phase(cluster, name) for name in "bc"] == ["Running", "Running"]


@pytest.mark.parametrize(("release", "keeps", "evicts"), [("1.34", True, True), ("1.36", True, False)])
def test_a_rule_without_a_selector(release: str, keeps: bool, evicts: bool) -> None:
    """It taints every device for the scheduler; whether pods go depends on the release."""
    cluster = with_rules(release, nodes=1, count=2)
    claim(cluster, "a", request())
    claim(cluster, "b", request())
    cluster.create(user("a", "a"))
    cluster.settle()
    rule(cluster, "rule", None)
    cluster.create(user("b", "b"))
    cluster.advance(minutes=1)
    assert there(cluster, "a") is not evicts
    assert (phase(cluster, "b") == "Pending") is keeps


@pytest.mark.parametrize(
    ("selector", "goes"),
    [
        ({"deviceClassName": "gpu"}, True),
        ({"deviceClassName": "unknown"}, False),
        ({"selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].model == 'a'"}}]}, True),
        ({"selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].model == 'b'"}}]}, False),
        ({"selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].nothing == 'b'"}}]}, False),
    ],
)
def test_rules_could_choose_by_class(selector: dict[str, Any], goes: bool) -> None:
    """Up to 1.34 a rule may name a class and have expressions."""
    cluster = with_rules("1.34", nodes=1, count=1)
    claim(cluster, "c", request())
    cluster.create(user("one", "c"))
    cluster.settle()
    rule(cluster, "rule", selector)
    cluster.advance(minutes=1)
    assert there(cluster, "one") is not goes


@pytest.mark.parametrize("release", ["1.35", "1.36"])
def test_rules_tell_their_progress(release: str) -> None:
    """First how many pods have to go, and ten seconds later at the earliest how many went."""
    cluster = with_rules(release, nodes=2, count=2)
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    template(cluster, "one", request())
    for name in "abc":
        cluster.create(user(name, template="one"))
    cluster.settle()
    rule(cluster, "idle", {"driver": "other.example.com"})
    rule(cluster, "soft", {"driver": DRIVER}, effect="NoSchedule")
    rule(cluster, "rule", {"driver": DRIVER})
    cluster.settle()
    assert condition(cluster, "idle") == ("False", "NotStarted", "")
    assert condition(cluster, "soft") == ("False", "OtherEffect", "Eviction only happens for the NoExecute effect.")
    assert condition(cluster) == ("True", "PodsPendingEviction", "3 pods need to be evicted in 1 namespace.")
    cluster.advance(seconds=9)
    assert condition(cluster)[1] == "PodsPendingEviction"
    cluster.advance(seconds=40)
    assert condition(cluster) == ("False", "Completed", "3 pods evicted since starting the controller.")
    rule(cluster, "rule", {"driver": DRIVER}, effect="NoSchedule")
    cluster.settle()
    told = "Eviction only happens for the NoExecute effect. 3 pods evicted since starting the controller."
    assert condition(cluster) == ("False", "OtherEffect", told)


def test_a_rule_without_effect_tells_what_it_would_do() -> None:
    """It counts devices and pods once, and drives nobody away."""
    cluster = with_rules(nodes=2, count=2)
    claim(cluster, "c", request(count=2))
    cluster.create(user("one", "c"))
    cluster.settle()
    rule(cluster, "rule", {"driver": DRIVER}, effect="None")
    cluster.advance(minutes=1)
    assert phase(cluster, "one") == "Running"
    assert condition(cluster) == (
        "False",
        "NoEffect",
        "4 published devices selected. 2 allocated devices selected. 1 pod would be evicted in 1 namespace if the "
        "effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger "
        "an update.",
    )
