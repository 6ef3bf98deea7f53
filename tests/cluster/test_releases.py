"""Servers of other releases, forks at another release and without a version."""

from __future__ import annotations

from typing import Any

import pytest

from simkit import Cluster
from simkit.cluster.options import Options
from simkit.cluster.releases import limits
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request, Response

BETA = "flowcontrol.apiserver.k8s.io/v1beta3"
SCHEMA: dict[str, Any] = {
    "apiVersion": BETA,
    "kind": "FlowSchema",
    "metadata": {"name": "mine"},
    "spec": {"priorityLevelConfiguration": {"name": "global-default"}},
}


def get(cluster: Cluster, path: str) -> Response:
    return cluster.perform(Request.of("GET", path))


def warnings(response: Response) -> list[str]:
    return [value for name, value in response.headers if name == "Warning"]


@pytest.mark.parametrize("release", ["1.16", "1.21", "1.25", "1.32", "1.37"])
def test_a_server_of_any_release_starts_and_keeps_its_own_discovery(release: str) -> None:
    """The preferred version of every group is served."""
    cluster = Cluster(release, seed=1)
    groups = get(cluster, "/apis").object["groups"]
    assert groups
    for group in groups:
        assert get(cluster, f"/apis/{group['preferredVersion']['groupVersion']}").status == 200


def test_an_old_version_is_stored_and_read_as_the_new_one() -> None:
    """An Ingress of 1.21 written through extensions, read through networking, with a warning on the old path alone."""
    cluster = Cluster("1.21", seed=1)
    ingress = {
        "apiVersion": "extensions/v1beta1",
        "kind": "Ingress",
        "metadata": {"name": "shop"},
        "spec": {"backend": {"serviceName": "web", "servicePort": 80}},
    }
    made = cluster.perform(Request.of("POST", "/apis/extensions/v1beta1/namespaces/default/ingresses", ingress))
    assert (made.status, made.object["spec"]) == (201, ingress["spec"])
    assert "unavailable in v1.22+" in warnings(made)[0]
    read = get(cluster, "/apis/networking.k8s.io/v1/namespaces/default/ingresses/shop")
    assert read.object["spec"] == {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}
    assert warnings(read) == []


def test_an_empty_selector_of_a_budget_keeps_its_meaning() -> None:
    """An empty selector of v1beta1 selects no pod in v1 either."""
    cluster = Cluster("1.21", seed=1)
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {}}}
    path = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets"
    assert cluster.perform(Request.of("POST", path, budget)).status == 201
    read = get(cluster, "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b").object
    assert read["spec"]["selector"]["matchExpressions"][0]["operator"] == "Exists"


def test_a_fork_at_another_release_serves_the_same_objects_in_what_is_left() -> None:
    """Versions that the later release removed answer 404; the original does not change."""
    cluster = Cluster(seed=1)
    cluster.create(SCHEMA)
    fork = cluster.fork(release="1.32")
    assert fork.release == "1.32"
    assert get(fork, f"/apis/{BETA}/flowschemas/mine").status == 404
    assert get(fork, "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/mine").status == 200
    assert get(cluster, f"/apis/{BETA}/flowschemas/mine").status == 200


def test_a_fork_without_a_version_answers_as_if_it_were_gone() -> None:
    """The version, a whole group, and one resource of a version."""
    cluster = Cluster(seed=1)
    assert get(cluster.with_apis_disabled(BETA), f"/apis/{BETA}/flowschemas").status == 404
    assert get(cluster.with_apis_disabled("batch"), "/apis/batch/v1/jobs").status == 404
    fork = cluster.with_apis_disabled("batch/v1/jobs")
    assert (get(fork, "/apis/batch/v1/jobs").status, get(fork, "/apis/batch/v1/cronjobs").status) == (404, 200)
    with pytest.raises(SimkitError, match=r"does not serve 'policy/v1beta1'; of that group: policy/v1"):
        cluster.with_apis_disabled("policy/v1beta1")


def test_options_of_versions_and_gates_reach_the_server() -> None:
    """A version that is off by default is served; a gate that cannot be changed is refused."""
    cluster = Cluster(options=Options(runtime_config={"networking/v1alpha1": True}, seed=1))
    assert get(cluster, "/apis/networking.k8s.io/v1alpha1/ipaddresses").status == 200
    with pytest.raises(SimkitError, match="locked to true"):
        Cluster(options=Options(feature_gates={"APIListChunking": False}))


def test_differences_from_a_real_server_are_told() -> None:
    """None for the release that is imitated, a table for all others."""
    assert limits("1.30") == ()
    assert "default roles" in {each.area for each in limits("1.21")}


@pytest.mark.parametrize(
    ("release", "forms", "described"),
    [
        ("1.19", [], ["/openapi/v2"]),
        ("1.24", [], ["/openapi/v2", "/openapi/v3", "/.well-known/openid-configuration"]),
        ("1.29", ["v2beta1"], ["/openapi/v2", "/openapi/v3", "/metrics/slis", "/.well-known/openid-configuration"]),
        (
            "1.30",
            ["v2", "v2beta1"],
            ["/openapi/v2", "/openapi/v3", "/metrics/slis", "/.well-known/openid-configuration"],
        ),
        ("1.33", ["v2"], ["/openapi/v2", "/openapi/v3", "/metrics/slis", "/.well-known/openid-configuration"]),
    ],
)
def test_paths_and_forms_come_with_their_release(release: str, forms: list[str], described: list[str]) -> None:
    """The third description, aggregated discovery, indicators and the issuer's document came one by one."""
    cluster = Cluster(release, seed=1)

    def told(path: str, accept: str = "application/json") -> Response:
        return cluster.perform(Request.of("GET", path, headers={"accept": accept}))

    asked = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList,application/json"
    given = [told("/apis", asked.format(version)).object for version in ("v2", "v2beta1")]
    assert [each["apiVersion"].rpartition("/")[2] for each in given if each["kind"] == "APIGroupDiscoveryList"] == forms
    paths = ("/openapi/v2", "/openapi/v3", "/metrics/slis", "/.well-known/openid-configuration")
    assert [path for path in paths if told(path).status == 200] == described
    listed = told("/").object["paths"]
    assert ("/openapi/v3" in listed) == ("/openapi/v3" in described)
