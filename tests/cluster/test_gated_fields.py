"""Fields behind feature gates, and fields of later releases: what servers of several releases take and show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options

JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}


def made(
    kind: str, spec: dict[str, Any], release: str = "1.30", gates: Mapping[str, bool] | None = None
) -> dict[str, Any]:
    """The spec of an object as a server with some gates stores and shows it."""
    cluster = Cluster(options=Options(release=release, feature_gates=gates or {}, seed=1))
    version = {"Job": "batch/v1", "StatefulSet": "apps/v1"}.get(kind, "v1")
    obj = cluster.create({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec})
    found: dict[str, Any] = obj["spec"]
    return found


def pod(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "x", **more.pop("container", {})}], **more}


def test_fields_of_features_that_are_off() -> None:
    """They are taken away without a word; what must have a value gets the usual one."""
    container = {
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        "securityContext": {"procMount": "Unmasked"},
    }
    spec = made("Pod", pod(hostUsers=False, container=container))
    assert "hostUsers" not in spec
    assert "resizePolicy" not in spec["containers"][0]
    assert spec["containers"][0]["securityContext"] == {"procMount": "Default"}


@pytest.mark.parametrize(
    ("gate", "kind", "spec", "path"),
    [
        ("UserNamespacesSupport", "Pod", pod(hostUsers=False), ("hostUsers",)),
        (
            "ProcMountType",
            "Pod",
            pod(hostUsers=False, container={"securityContext": {"procMount": "Unmasked"}}),
            ("containers", 0, "securityContext", "procMount"),
        ),
        (
            "MatchLabelKeysInPodAffinity",
            "Pod",
            pod(
                affinity={
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "topologyKey": "zone",
                                "labelSelector": {"matchLabels": {"a": "b"}},
                                "matchLabelKeys": ["team"],
                            }
                        ]
                    }
                }
            ),
            ("affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution", 0, "matchLabelKeys"),
        ),
        ("JobManagedBy", "Job", {**JOB, "managedBy": "example.com/other"}, ("managedBy",)),
        (
            "VolumeAttributesClass",
            "PersistentVolumeClaim",
            {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "volumeAttributesClassName": "fast",
            },
            ("volumeAttributesClassName",),
        ),
        (
            "ServiceTrafficDistribution",
            "Service",
            {"ports": [{"port": 80}], "trafficDistribution": "PreferClose"},
            ("trafficDistribution",),
        ),
    ],
)
def test_a_gate_opens_its_fields(gate: str, kind: str, spec: dict[str, Any], path: tuple[Any, ...]) -> None:
    """Set when the gate is on, gone or at its default when it is off."""
    given: Any = spec
    for step in path:
        given = given[step]
    for on in (True, False):
        found: Any = made(kind, spec, gates={gate: on, "UserNamespacesSupport": on})
        for step in path[:-1]:
            found = found[step]
        assert (found.get(path[-1]) == given) is on


@pytest.mark.parametrize(
    ("release", "there"),
    [("1.20", False), ("1.21", False), ("1.22", True), ("1.30", True)],
)
def test_a_release_has_its_own_defaults_of_gates(release: str, there: bool) -> None:
    """Suspending jobs came as alpha in 1.21, was on by default from 1.22, and stayed when the gate was gone."""
    assert ("suspend" in made("Job", {**JOB, "suspend": True}, release)) is there


def test_an_alpha_of_an_old_release_can_be_switched_on() -> None:
    """As its own flag allows."""
    assert made("Job", {**JOB, "suspend": True}, "1.21", {"SuspendJob": True})["suspend"] is True


def test_later_fields_are_not_shown() -> None:
    """Defaults that a release does not know yet stay inside."""
    service = made("Service", {"ports": [{"port": 80}]}, "1.16")
    assert sorted(service) == ["clusterIP", "ports", "sessionAffinity", "type"]
    assert "internalTrafficPolicy" not in made("Service", {"ports": [{"port": 80}]}, "1.21")
    assert made("Service", {"ports": [{"port": 80}]}, "1.22")["internalTrafficPolicy"] == "Cluster"


def test_fields_in_use_stay() -> None:
    """A field that the stored object has survives updates where the feature is off; a new one does not come in."""
    before = Cluster(options=Options(feature_gates={"ServiceTrafficDistribution": True}, seed=1))
    near = {"ports": [{"port": 80}], "trafficDistribution": "PreferClose"}
    for name, spec in (("a", near), ("b", {"ports": [{"port": 80}]})):
        before.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
    after = Cluster.load([*before.list("namespaces"), *before.list("services")], options=Options(seed=1))
    for name, stays in (("a", True), ("b", False)):
        live = after.get("services", name, "default")
        after.apply([{**live, "spec": {**live["spec"], "trafficDistribution": "PreferClose"}}])
        assert ("trafficDistribution" in after.get("services", name, "default")["spec"]) is stays
