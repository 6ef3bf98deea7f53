"""Fields of devices whose feature gate is off are dropped before they are checked."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.message import Request

_VERSION = "resource.k8s.io/v1"


def _device(release: str, device: dict[str, Any], gates: dict[str, bool] | None = None) -> dict[str, Any]:
    """The stored first device of a slice."""
    cluster = simkit.Cluster(options=Options(release=release, seed=1, feature_gates=gates or {}))
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "a.b", "nodeName": "n", "pool": pool, "devices": [{"name": "d", **device}]}
    made = cluster.create({"apiVersion": _VERSION, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})
    found: dict[str, Any] = made["spec"]["devices"][0]
    return found


@pytest.mark.parametrize(("release", "kept"), [("1.36", True), ("1.35", False)])
def test_devices_may_be_shared_once_the_gate_is_open(release: str, kept: bool) -> None:
    """Devices for several claims came into force with 1.36; before, a server drops the field."""
    assert ("allowMultipleAllocations" in _device(release, {"allowMultipleAllocations": True})) is kept


def test_lists_of_attributes_are_dropped() -> None:
    """At 1.36 attributes with several values are an alpha feature: only what else stands there is stored."""
    attributes = {"a": {"int": 1, "ints": [1]}, "b": {"string": "x", "strings": ["x"]}}
    stored = _device("1.36", {"attributes": attributes})
    assert stored["attributes"] == {"a": {"int": 1}, "b": {"string": "x"}}


def test_a_value_that_was_dropped_is_missing() -> None:
    """An attribute that has nothing but a dropped value has none."""
    with pytest.raises(Exception, match=r"attributes\[a\]: Invalid value: \"\": exactly one value must be specified"):
        _device("1.36", {"attributes": {"a": {"ints": [1, 2]}}})


def test_gates_open_fields() -> None:
    """With its gate a field is stored."""
    stored = _device("1.36", {"attributes": {"a": {"ints": [1, 2]}}}, {"DRAListTypeAttributes": True})
    assert stored["attributes"] == {"a": {"ints": [1, 2]}}


def test_the_state_of_devices_needs_its_gate() -> None:
    """Without the gate what drivers tell about devices is not stored."""
    gates = {"DRAResourceClaimDeviceStatus": False, "DRAResourceClaimGranularStatusAuthorization": False}
    gates |= {"DRADeviceBindingConditions": False}
    cluster = simkit.Cluster(options=Options(release="1.36", seed=1, feature_gates=gates))
    request = {"name": "r", "exactly": {"deviceClassName": "x"}}
    claim = {"apiVersion": _VERSION, "kind": "ResourceClaim", "metadata": {"name": "c"}}
    cluster.create({**claim, "spec": {"devices": {"requests": [request]}}})
    device = {"driver": "a.b", "pool": "p", "device": "d"}
    status = {"allocation": {"devices": {"results": [{"request": "r", **device}]}}, "devices": [device]}
    headers = {"content-type": "application/merge-patch+json"}
    path = f"/apis/{_VERSION}/namespaces/default/resourceclaims/c/status"
    made = cluster.perform(Request.of("PATCH", path, {"status": status}, headers=headers)).object
    assert list(made["status"]) == ["allocation"]
