"""The resourceVersion that a client gives with an object that is not there yet, as kube-apiserver 1.30 takes it."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response

MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SET = "resourceVersion should not be set on objects to be created"
BEYOND = "18446744073709551616"


@pytest.fixture
def cluster() -> simkit.Cluster:
    return simkit.Cluster(seed=1)


def config_map(version: str, name: str = "m", **meta: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "resourceVersion": version, **meta}}


def post(cluster: simkit.Cluster, body: Any, path: str = MAPS) -> Response:
    return cluster.perform(Request.of("POST", path, body))


def told(answer: Response) -> tuple[int, str]:
    return answer.status, str(answer.object.get("message", ""))


@pytest.mark.parametrize("version", ["0", "00", "v1", "-1", "1.5", "+1", "٣", BEYOND])
def test_versions_that_are_no_positive_number_are_accepted(cluster: simkit.Cluster, version: str) -> None:
    """A create takes it, and stores the object under a version of its own."""
    answer = post(cluster, config_map(version))
    assert answer.status == 201
    assert answer.object["metadata"]["resourceVersion"] not in ("", version)


def test_a_number_is_refused_at_the_end(cluster: simkit.Cluster) -> None:
    """The error has no reason; a name that is taken would only be found after it."""
    answer = post(cluster, config_map("5"))
    assert (told(answer), "reason" in answer.object) == ((500, SET), False)
    assert post(cluster, config_map("0")).status == 201
    assert told(post(cluster, config_map("5"))) == (500, SET)


@pytest.mark.parametrize(
    ("body", "path", "status"),
    [
        (config_map("5", "No Name"), MAPS, 422),
        (config_map("5", labels={"a b": "c"}), MAPS, 422),
        (config_map("5"), MAPS.replace("default", "missing"), 404),
        (config_map("5", namespace="other"), MAPS, 400),
    ],
)
def test_other_faults_come_before_a_number(cluster: simkit.Cluster, body: Any, path: str, status: int) -> None:
    """Validation, the namespace and the name are looked at first."""
    assert post(cluster, body, path).status == status


@pytest.mark.parametrize("version", ["5", "v1"])
def test_a_dry_run_echoes_the_version(cluster: simkit.Cluster, version: str) -> None:
    """It stores nothing, so nothing refuses the version or writes another."""
    answer = post(cluster, config_map(version), f"{MAPS}?dryRun=All")
    assert (answer.status, answer.object["metadata"]["resourceVersion"]) == (201, version)


@pytest.mark.parametrize(("version", "why"), [("v1", "invalid syntax"), (BEYOND, "value out of range")])
@pytest.mark.parametrize("verb", ["PUT", "apply"])
def test_a_put_or_apply_that_creates_reads_the_version(
    cluster: simkit.Cluster, verb: str, version: str, why: str
) -> None:
    """A version that is no number is a 500 before the object is checked; a number means nothing"""
    answer = _made_by(cluster, verb, version)
    assert told(answer) == (500, f'strconv.ParseUint: parsing "{version}": {why}')
    assert _made_by(cluster, verb, "5").status == 201


def _made_by(cluster: simkit.Cluster, verb: str, version: str) -> Response:
    meta = {"name": "l", "resourceVersion": version}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
    if verb == "PUT":
        return cluster.perform(Request.of("PUT", f"{LEASES}/l", body))
    path = f"{LEASES}/l?fieldManager=me"
    return cluster.perform(Request.of("PATCH", path, body, content_type="application/apply-patch+yaml"))


@pytest.mark.parametrize("verb", ["PUT", "apply"])
def test_a_dry_run_that_creates_echoes_the_number(cluster: simkit.Cluster, verb: str) -> None:
    """A PUT or an apply on trial shows the number that the client gave."""
    meta = {"name": "l", "resourceVersion": "5"}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
    path, media = f"{LEASES}/l?dryRun=All&fieldManager=me", "application/apply-patch+yaml"
    request = Request.of("PUT", path, body) if verb == "PUT" else Request.of("PATCH", path, body, content_type=media)
    answer = cluster.perform(request)
    assert (answer.status, answer.object["metadata"]["resourceVersion"]) == (201, "5")


@pytest.mark.parametrize(
    ("version", "status", "message"),
    [
        ("v1", 500, 'strconv.ParseUint: parsing "v1": invalid syntax'),
        ("٣", 500, 'strconv.ParseUint: parsing "٣": invalid syntax'),
        (BEYOND, 500, f'strconv.ParseUint: parsing "{BEYOND}": value out of range'),
        ("99999999", 409, "the object has been modified"),
        ("000", 200, ""),
    ],
)
def test_a_put_reads_the_version_as_a_number(cluster: simkit.Cluster, version: str, status: int, message: str) -> None:
    """A PUT to what is there compares numbers, whatever zeros stand before them."""
    made = post(cluster, config_map("0")).object["metadata"]["resourceVersion"]
    code, text = told(cluster.perform(Request.of("PUT", f"{MAPS}/m", config_map(version))))
    assert code == status
    assert message in text
    assert cluster.perform(Request.of("PUT", f"{MAPS}/m", config_map(f"0{made}"))).status == 200
