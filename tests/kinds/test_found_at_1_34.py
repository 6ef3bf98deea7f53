"""What a comparison with kube-apiserver 1.34 found, besides what its recording repeats."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.behaviour import ServedBehaviour, serving
from simkit.meta.message import Request, Response
from simkit.schema.custom.validation import Check
from simkit.schema.releases import minor_of

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def sent(cluster: simkit.Cluster, method: str, path: str, body: dict[str, Any] | None = None) -> Response:
    """The answer to a request with an object or a merge patch."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return cluster.perform(Request.of(method, path, body, headers={"content-type": kind}))


def warned(response: Response) -> list[str]:
    """The texts of the warnings of an answer."""
    return [value.split('"', 1)[1].rstrip('"') for name, value in response.headers if name.lower() == "warning"]


def claim(**request: Any) -> dict[str, Any]:
    """A claim with one request for devices, twice."""
    wanted = {"name": "r", "exactly": {"deviceClassName": "c", **request}}
    return {"metadata": {"name": "x"}, "spec": {"devices": {"requests": [wanted, wanted]}}}


@pytest.mark.parametrize(("release", "field"), [("1.34", "requests[1].name"), ("1.35", "requests[1]")])
def test_the_place_of_a_duplicate_request(release: str, field: str) -> None:
    """Up to 1.34 a duplicate is told at its name."""
    refused = sent(simkit.Cluster(release=release), "POST", CLAIMS, claim())
    assert [each["field"] for each in refused.object["details"]["causes"]] == [f"spec.devices.{field}"]


@pytest.mark.parametrize(("release", "kept"), [("1.34", True), ("1.35", False)])
def test_tolerations_of_claims(release: str, kept: bool) -> None:
    """Up to 1.34 they are stored though taints of devices are off."""
    body = claim(tolerations=[{"operator": "Exists"}])
    del body["spec"]["devices"]["requests"][1]
    made = sent(simkit.Cluster(release=release), "POST", CLAIMS, body)
    assert made.status == 201
    assert ("tolerations" in made.object["spec"]["devices"]["requests"][0]["exactly"]) is kept


def test_ranges_of_limits_heed_what_is_set_for_a_pod_as_a_whole() -> None:
    """A limit of the pod counts before those of its containers."""
    cluster = simkit.Cluster(release="1.34")
    spec: dict[str, Any] = {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}
    sent(cluster, "POST", "/api/v1/namespaces/default/limitranges", {"metadata": {"name": "x"}, "spec": spec})
    whole = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    pod = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}], "resources": whole}}
    assert sent(cluster, "POST", PODS, pod).object["message"].endswith("is 1, but limit is 2")


@pytest.mark.parametrize(("release", "count"), [("1.32", 0), ("1.33", 1)])
def test_addresses_that_others_read_differently_are_warned_about(release: str, count: int) -> None:
    """Those of Endpoints, slices, nodes and load balancers, since 1.33."""
    cluster = simkit.Cluster(release=release)
    subsets = [{"addresses": [{"ip": "010.0.0.1"}], "ports": [{"port": 1}]}]
    core, groups = "/api/v1/namespaces/default", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    slices = {"metadata": {"name": "x"}, "addressType": "IPv4", "endpoints": [{"addresses": ["010.0.0.1"]}]}
    made = (
        sent(cluster, "POST", f"{core}/endpoints", {"metadata": {"name": "x"}, "subsets": subsets}),
        sent(cluster, "POST", groups, slices),
        sent(cluster, "POST", "/api/v1/nodes", {"metadata": {"name": "x"}, "spec": {"podCIDRs": ["010.0.0.0/8"]}}),
    )
    assert [each.status for each in made] == [201, 201, 201]
    assert [sum("non-standard" in text for text in warned(each)) for each in made] == [count] * 3


@pytest.mark.parametrize(("release", "warnings"), [("1.26", 0), ("1.27", 1)])
def test_slices_of_names_are_warned_about(release: str, warnings: int) -> None:
    """Since 1.27, when they are made."""
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    body = {"metadata": {"name": "x"}, "addressType": "FQDN", "endpoints": [{"addresses": ["a.b"]}]}
    assert len(warned(sent(simkit.Cluster(release=release), "POST", path, body))) == warnings


@pytest.mark.parametrize(("release", "times"), [("1.34", 2), ("1.35", 1)])
def test_errors_of_changed_attribute_classes(release: str, times: int) -> None:
    """Up to 1.34 those of the whole object are told twice."""
    cluster, path = simkit.Cluster(release=release), "/apis/storage.k8s.io/v1/volumeattributesclasses"
    sent(cluster, "POST", path, {"metadata": {"name": "x"}, "driverName": "d", "parameters": {"a": "b"}})
    refused = sent(cluster, "PUT", f"{path}/x", {"metadata": {"name": "x"}})
    causes = [each["message"] for each in refused.object["details"]["causes"]]
    assert causes.count("Required value") == times


@pytest.mark.parametrize(("release", "count"), [("1.27", 1), ("1.28", 2)])
def test_the_fields_of_an_object_with_too_many_are_checked(release: str, count: int) -> None:
    """Since 1.28."""
    with serving(ServedBehaviour(minor_of(release))):
        check = Check({"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}})
        assert len(check.errors({"a": "b", "c": 1})) == count


def test_the_watch_of_an_old_path_takes_the_options_of_a_list() -> None:
    """Unless it says that it is a watch, it may not ask for initial events."""
    path = "/api/v1/watch/namespaces/default/configmaps?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    refused = simkit.Cluster(release="1.34").perform(Request.of("GET", f"{path}&timeoutSeconds=1"))
    assert refused.status == 422
    fields = [each["field"] for each in refused.object["details"]["causes"]]
    assert fields == ["resourceVersionMatch", "sendInitialEvents"]


@pytest.mark.parametrize(("release", "status"), [("1.32", 404), ("1.33", 200)])
def test_the_size_of_a_pod_is_a_part_of_its_own(release: str, status: int) -> None:
    """Since 1.33, when its feature is on by default."""
    cluster = simkit.Cluster(release=release)
    pod = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    sent(cluster, "POST", PODS, pod)
    assert cluster.perform(Request.of("GET", f"{PODS}/x/resize")).status == status
    listed = cluster.perform(Request.of("GET", "/api/v1")).object["resources"]
    assert ("pods/resize" in {each["name"] for each in listed}) is (status == 200)


@pytest.mark.parametrize(("release", "times"), [("1.34", 2), ("1.35", 1)])
def test_errors_of_changed_claim_templates(release: str, times: int) -> None:
    """Up to 1.34 those of the spec are told before and after that it must not change."""
    cluster, path = simkit.Cluster(release=release), CLAIMS.replace("claims", "claimtemplates")
    sent(cluster, "POST", path, {"metadata": {"name": "x"}, "spec": {"spec": {}}})
    refused = sent(cluster, "PUT", f"{path}/x", {"metadata": {"name": "x"}, "spec": {"metadata": {"generation": 7}}})
    causes = [each["message"] for each in refused.object["details"]["causes"]]
    assert causes.count("Forbidden: cannot be set") == times


@pytest.mark.parametrize(
    ("factor", "value", "told"),
    [
        (2, 1e300, "multiple of 2"),
        (2, 1e17, "multiple of 2"),
        (2, 10**17, ""),
        (0.5, 3, "must be positive: 0"),
        (0.5, 3.5, ""),
        (1.5, 4, ""),
        (1.5, 4.0, "multiple of 1.5"),
        (0.1, 0.3, ""),
    ],
)
def test_factors_of_numbers(factor: float, value: float, told: str) -> None:
    """Whole numbers are divided by whole factors, and no fraction beyond 53 bits is a multiple."""
    with serving(ServedBehaviour(34)):
        errors = list(map(str, Check({"type": "number", "multipleOf": factor}).errors(value)))
    assert len(errors) == bool(told)
    assert all(told in each for each in errors)
