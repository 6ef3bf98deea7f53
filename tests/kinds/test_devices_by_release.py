"""Claims of devices, their classes, templates and slices: what each release checks, keeps and shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request, Response
from tests.kinds.comparison import cluster_of, sent

DEVICES = "/apis/resource.k8s.io/v1"


def causes(response: Response) -> list[tuple[str, str]]:
    """The fields and messages of the causes of a refusal."""
    return [(each["field"], each["message"]) for each in response.object["details"]["causes"]]


def named(spec: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """An object called ``x``."""
    return {"metadata": {"name": "x"}, **({} if spec is None else {"spec": spec}), **fields}


CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def claim(**request: Any) -> dict[str, Any]:
    """A claim with one request for devices, twice."""
    wanted = {"name": "r", "exactly": {"deviceClassName": "c", **request}}
    return {"metadata": {"name": "x"}, "spec": {"devices": {"requests": [wanted, wanted]}}}


def selects(cluster: Cluster, expression: str) -> list[str]:
    """The causes why an expression does not select devices; empty if it does."""
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "d"}, "spec": spec}
    path = "/apis/resource.k8s.io/v1/deviceclasses?dryRun=All"
    answer = cluster.perform(Request.of("POST", path, made)).object
    return [cause["message"] for cause in (answer.get("details") or {}).get("causes", ())]


@pytest.mark.parametrize(("release", "checks"), [("1.34", 2), ("1.35", 1)])
def test_a_changed_class_of_devices_is_checked(release: str, checks: int) -> None:
    """Up to 1.34 twice."""
    cluster, path = simkit.Cluster(release=release), f"{DEVICES}/deviceclasses"
    sent(cluster, "POST", path, named({}))
    told = causes(sent(cluster, "PATCH", f"{path}/x", {"spec": {"config": [{"opaque": {"driver": "D_"}}]}}))
    assert [field for field, _ in told].count("spec.config[0].opaque.driver") == checks


@pytest.mark.parametrize(("release", "times"), [("1.34", 2), ("1.35", 0)])
def test_a_changed_claim_of_devices_is_checked(release: str, times: int) -> None:
    """Up to 1.34 twice; since then only that it is the same."""
    cluster, path = simkit.Cluster(release=release), f"{DEVICES}/namespaces/default/resourceclaims"
    sent(cluster, "POST", path, named({"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}))
    fields = [
        field for field, _ in causes(sent(cluster, "PATCH", f"{path}/x", {"spec": {"devices": {"config": [{}]}}}))
    ]
    assert fields.count("spec.devices.config[0].opaque") == times
    assert fields.count("spec") == 1


@pytest.mark.parametrize(("release", "count"), [("1.34", 2), ("1.35", 1)])
def test_a_request_for_devices_in_two_forms(release: str, count: int) -> None:
    """Up to 1.34 both are checked."""
    path = f"{DEVICES}/namespaces/default/resourceclaims"
    asked = {"name": "r", "exactly": {}, "firstAvailable": [{"name": "s", "deviceClassName": "c"}]}
    refused = sent(simkit.Cluster(release=release), "POST", path, named({"devices": {"requests": [asked]}}))
    assert len(causes(refused)) == count


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


@pytest.mark.parametrize(("release", "times"), [("1.34", 2), ("1.35", 1)])
def test_errors_of_changed_claim_templates(release: str, times: int) -> None:
    """Up to 1.34 those of the spec are told before and after that it must not change."""
    cluster, path = simkit.Cluster(release=release), CLAIMS.replace("claims", "claimtemplates")
    sent(cluster, "POST", path, {"metadata": {"name": "x"}, "spec": {"spec": {}}})
    refused = sent(cluster, "PUT", f"{path}/x", {"metadata": {"name": "x"}, "spec": {"metadata": {"generation": 7}}})
    causes = [each["message"] for each in refused.object["details"]["causes"]]
    assert causes.count("Forbidden: cannot be set") == times


def test_slices_of_devices_are_selected_by_node_and_driver() -> None:
    """In every version that has them."""
    cluster = cluster_of("1.36")
    path = "/apis/resource.k8s.io/v1/resourceslices?fieldSelector="
    assert cluster.perform(Request.of("GET", f"{path}spec.nodeName%3Da,spec.driver%3Db")).object["items"] == []
    answer = cluster.perform(Request.of("GET", f"{path}spec.nothing%3Dx")).object
    assert answer["message"] == "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.nothing"


def test_a_table_of_slices_shows_their_nodes_only() -> None:
    """Devices of all nodes have an empty cell."""
    cluster = cluster_of("1.36")
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "a.example.com", "allNodes": True, "pool": pool}
    cluster.create(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "x"}, "spec": spec}
    )
    headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    request = Request.of("GET", "/apis/resource.k8s.io/v1/resourceslices", headers=headers)
    assert cluster.perform(request).object["rows"][0]["cells"][:3] == ["x", "", "a.example.com"]


def test_values_in_expressions_about_devices_have_names() -> None:
    """What is named costs what its value costs."""
    cluster = cluster_of("1.36")
    assert selects(cluster, "cel.bind(d, device.attributes, d['a.example.com'].all(k, k == 'a'))") == []
    assert selects(cluster, "cel.bind(x, 1, x)") == [
        'Invalid value: "cel.bind(x, 1, x)": must evaluate to bool or the unknown type, not int'
    ]
    costly = "cel.bind(d, device.attributes, d.all(k, d.all(l, d.all(m, d.all(n, k == l)))))"
    assert selects(cluster, costly) == ["Forbidden: too complex, exceeds cost limit"]
    (cause,) = selects(cluster, "cel.bind(1, 2, true)")
    assert "cel.bind() variable names must be simple identifiers" in cause
    (cause,) = selects(cluster, "x.bind(a, 1, true)")
    assert "undeclared reference to 'x'" in cause
