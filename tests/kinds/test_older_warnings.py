"""Warnings that began or ended between 1.20 and 1.30."""

from __future__ import annotations

from typing import Any, Final

import pytest

from simkit.meta.message import Request
from tests.kinds.older_releases import NAMESPACE, claim_with, cluster_at, cron_job_with, ingress_of_class, service_with


def _warnings(release: str, path: str, obj: dict[str, Any]) -> list[str]:
    """The warnings of a release about a new object."""
    answer = cluster_at(release).perform(Request.of("POST", f"{path}?dryRun=All", obj))
    assert answer.status == 201, (release, answer.object)
    return [text for name, text in answer.headers if name.lower() == "warning"]


_OLD_CLASS: Final = {"volume.beta.kubernetes.io/storage-class": "c"}


def _volume(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "v", "annotations": _OLD_CLASS}
    whole = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/p"}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": whole}


_TOPOLOGY: Final = [{"matchLabelExpressions": [{"key": "beta.kubernetes.io/os", "values": ["linux"]}]}]
_KEY_PAIR: Final = {"tls.crt": "", "tls.key": ""}


@pytest.mark.parametrize(
    ("first", "path", "obj"),
    [
        (
            27,
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            {**ingress_of_class("a"), "spec": {"rules": [{}]}},
        ),
        (
            27,
            f"{NAMESPACE}/secrets",
            {"metadata": {"name": "s"}, "type": "kubernetes.io/tls", "data": _KEY_PAIR},
        ),
        (27, f"{NAMESPACE}/services", service_with(type="LoadBalancer", loadBalancerIP="010.0.0.1")),
        (28, f"{NAMESPACE}/services", service_with(externalName="a.example")),
        (26, f"{NAMESPACE}/persistentvolumeclaims", claim_with(resources={"requests": {"storage": "1500m"}})),
        (28, "/api/v1/persistentvolumes", _volume()),
        (
            25,
            "/apis/storage.k8s.io/v1/storageclasses",
            {"metadata": {"name": "c"}, "provisioner": "p", "allowedTopologies": _TOPOLOGY},
        ),
        (
            25,
            "/apis/node.k8s.io/v1/runtimeclasses",
            {"metadata": {"name": "c"}, "handler": "h", "scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "a"}}},
        ),
        (27, "/api/v1/nodes", {"metadata": {"name": "n"}, "spec": {"externalID": "e"}}),
    ],
)
def test_warnings_begin_with_a_release(first: int, path: str, obj: dict[str, Any]) -> None:
    """The release before does not warn of the same object."""
    assert _warnings(f"1.{first - 1}", path, obj) == []
    assert len(_warnings(f"1.{first}", path, obj)) == 1


def test_an_ingress_that_names_its_class_twice_is_not_warned_of() -> None:
    """Only who does not know the field is told about it."""
    assert _warnings("1.30", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", ingress_of_class("a")) == []


def test_volumes_that_are_recycled_are_warned_of_since_1_30() -> None:
    """Beside the warning of the annotation."""
    volume = _volume(persistentVolumeReclaimPolicy="Recycle")
    assert [len(_warnings(release, "/api/v1/persistentvolumes", volume)) for release in ("1.29", "1.30")] == [1, 2]


def test_zones_in_schedules() -> None:
    """Up to 1.28 a zone in a schedule is warned of, afterwards it is refused."""
    path = "/apis/batch/v1/namespaces/default/cronjobs"
    told = _warnings("1.28", path, cron_job_with(schedule="TZ=UTC 0 * * * *"))
    assert "not officially supported" in told[0]
    refused = cluster_at("1.29").perform(Request.of("POST", path, cron_job_with(schedule="TZ=UTC 0 * * * *")))
    assert refused.status == 422
