"""Kinds of dynamic resource allocation: what is refused, as kube-apiserver 1.36 told it."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request

GROUP = "/apis/resource.k8s.io/v1"
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    return simkit.Cluster(release="1.36", seed=1)


def causes(cluster: simkit.Cluster, resource: str, kind: str, spec: dict[str, Any]) -> list[str]:
    """What is told about a new object, as a dry run."""
    obj = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    answer = cluster.perform(Request.of("POST", f"{GROUP}/{resource}?dryRun=All", obj)).object
    return [f"{one['field']}: {one['message']}" for one in answer.get("details", {}).get("causes", ())]


def of_device(cluster: simkit.Cluster, device: dict[str, Any], **parts: Any) -> list[str]:
    """What is told about a device, without the place of the device."""
    spec = {"driver": "a.example.com", "allNodes": True, "pool": POOL, "devices": [{"name": "d", **device}], **parts}
    told = causes(cluster, "resourceslices", "ResourceSlice", spec)
    return [text.replace("spec.devices[0]", "device") for text in told]


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ('device.driver == "a"', ""),
        ('device.attributes["a.example.com"].healthy', ""),
        ("device.allowMultipleAllocations", ""),
        ('device.capacity["a"].x.compareTo(quantity("1")) > 0', ""),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        ('device.capacity["a"].x', "must evaluate to bool or the unknown type, not kubernetes.Quantity"),
        (
            "device.attributes",
            "must evaluate to bool or the unknown type, not map(string, map(string, google.protobuf.Any))",
        ),
        (
            "device.foo == 1",
            "compilation failed: ERROR: <input>:1:7: undefined field 'foo'\n | device.foo == 1\n | ......^",
        ),
        ("device.attributes.all(k, device.attributes.all(l, device.attributes.all(m, k == l)))", ""),
    ],
)
def test_expressions(cluster: simkit.Cluster, expression: str, told: str) -> None:
    """They compile against the device, and give a bool or an attribute."""
    selectors = {"selectors": [{"cel": {"expression": expression}}]}
    found = causes(cluster, "deviceclasses", "DeviceClass", selectors)
    assert [text.partition('": ')[2] for text in found] == ([told.replace('"', '\\"')] if told else [])


def test_the_cost_of_expressions(cluster: simkit.Cluster) -> None:
    """One that may cost too much is forbidden."""
    inner = "device.attributes[k] == device.attributes[l]"
    for name in "nmlk":
        inner = f"device.attributes.all({name}, {inner})"
    selectors = {"selectors": [{"cel": {"expression": inner}}]}
    place = "spec.selectors[0].cel.expression"
    assert causes(cluster, "deviceclasses", "DeviceClass", selectors) == [
        f"{place}: Forbidden: too complex, exceeds cost limit"
    ]


def test_slices_without_anything(cluster: simkit.Cluster) -> None:
    """Driver, pool and nodes are required."""
    fields = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
    assert causes(cluster, "resourceslices", "ResourceSlice", {}) == [
        "spec.driver: Required value",
        "spec.pool.name: Required value",
        "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
        f"spec: Required value: exactly one of {fields} is required",
    ]


@pytest.mark.parametrize(
    ("device", "told"),
    [
        ({"attributes": {"a": {"version": "1.2.3-rc.1+b"}, "b.example.com/c": {"int": 0}}}, ""),
        (
            {"attributes": {"a": {"version": "1.2"}}},
            'device.attributes[a].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0',
        ),
        ({"attributes": {"a": {}}}, 'device.attributes[a]: Invalid value: "": exactly one value must be specified'),
        (
            {"taints": [{"key": "a", "effect": "Odd"}]},
            'device.taints[0].effect: Unsupported value: "Odd": supported values: "NoExecute", "NoSchedule", "None"',
        ),
        ({"consumesCounters": [{"counterSet": "c"}]}, "device.consumesCounters[0].counters: Required value"),
        (
            {"capacity": {"m": {"value": "1", "requestPolicy": {"validValues": ["1"]}}}},
            "device.capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true",
        ),
        (
            {
                "allowMultipleAllocations": True,
                "capacity": {"m": {"value": "1", "requestPolicy": {"validValues": ["1"]}}},
            },
            "device.capacity[m].requestPolicy.default: Required value: required when validValues is defined",
        ),
        (
            {"bindingConditions": ["a"]},
            "device.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use "
            "bindingConditions",
        ),
        (
            {"nodeName": "n"},
            "device: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if "
            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec",
        ),
    ],
)
def test_devices(cluster: simkit.Cluster, device: dict[str, Any], told: str) -> None:
    """Attributes, capacities, taints, counters and conditions of devices are checked."""
    assert of_device(cluster, device) == ([told] if told else [])


def test_taints_say_when_they_were_added(cluster: simkit.Cluster) -> None:
    """The server says it if the client does not."""
    device = {"name": "d", "taints": [{"key": "a", "effect": "NoSchedule"}]}
    spec = {"driver": "a.example.com", "allNodes": True, "pool": POOL, "devices": [device]}
    obj = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "x"}, "spec": spec}
    made = cluster.perform(Request.of("POST", f"{GROUP}/resourceslices?dryRun=All", obj)).object
    assert made["spec"]["devices"][0]["taints"][0]["timeAdded"] == made["metadata"]["creationTimestamp"]
