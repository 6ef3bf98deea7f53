"""Binding: a pod gets its node once."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.message import Request, Response

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster(options=Options(seed=1, controllers=()))
    made.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    return made


def pod(cluster: Cluster, name: str = "p", **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "x"}], **spec}}
    response = cluster.perform(Request.of("POST", PODS, body))
    assert response.status == 201, response.object


def bind(cluster: Cluster, name: str = "p", *, path: str = "", target: Any = None, **metadata: Any) -> Response:
    wanted = {"kind": "Node", "name": "n1"} if target is None else target
    body = {"metadata": {"name": name, **metadata}, "target": wanted}
    return cluster.perform(Request.of("POST", path or f"{PODS}/p/binding", body))


def stored(cluster: Cluster) -> Any:
    return cluster.perform(Request.of("GET", f"{PODS}/p")).object


def test_a_pod_is_bound_once(cluster: Cluster) -> None:
    """The node is written, annotations are taken over, and the pod counts as scheduled."""
    pod(cluster)
    response = bind(cluster, annotations={"by": "me"})
    assert (response.status, response.object["status"]) == (201, "Success")
    found = stored(cluster)
    assert (found["spec"]["nodeName"], found["metadata"]["annotations"]["by"]) == ("n1", "me")
    assert [(one["type"], one["status"]) for one in found["status"]["conditions"]] == [("PodScheduled", "True")]
    again = bind(cluster)
    text = 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    assert (again.status, again.object["message"]) == (409, text)


def test_the_older_path(cluster: Cluster) -> None:
    """Bindings have a collection of their own, too."""
    pod(cluster)
    assert bind(cluster, path="/api/v1/namespaces/default/bindings").status == 201
    assert stored(cluster)["spec"]["nodeName"] == "n1"


@pytest.mark.parametrize(
    ("name", "target", "metadata", "code", "message"),
    [
        ("q", None, {}, 400, "name in URL does not match name in Binding object"),
        ("p", {"kind": "Node", "name": ""}, {}, 500, "target.name: Required value"),
        (
            "p",
            None,
            {"uid": "u"},
            409,
            'Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4',
        ),
    ],
)
def test_refusals(cluster: Cluster, name: str, target: Any, metadata: Any, code: int, message: str) -> None:
    """A binding must name the pod of the path and a node, and may insist on one very pod."""
    pod(cluster)
    response = bind(cluster, name, target=target, **metadata)
    assert response.status == code
    assert response.object["message"].startswith(message)


def test_missing_and_gated(cluster: Cluster) -> None:
    """There must be a pod, and no gates before it."""
    assert bind(cluster).object["message"] == 'pods "p" not found'
    pod(cluster, schedulingGates=[{"name": "g"}])
    assert bind(cluster).object["message"].endswith("pod p has non-empty .spec.schedulingGates")


def test_dry_run(cluster: Cluster) -> None:
    """A dry run binds nothing."""
    pod(cluster)
    assert bind(cluster, path=f"{PODS}/p/binding?dryRun=All").status == 201
    assert "nodeName" not in stored(cluster)["spec"]


def test_a_bound_pod_takes_its_time(cluster: Cluster) -> None:
    """A pod on a node is marked and waits; one that runs nowhere is gone at once."""
    pod(cluster)
    bind(cluster)
    marked = cluster.perform(Request.of("DELETE", f"{PODS}/p")).object
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
    shorter = cluster.perform(Request.of("DELETE", f"{PODS}/p?gracePeriodSeconds=5")).object
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    longer = cluster.perform(Request.of("DELETE", f"{PODS}/p?gracePeriodSeconds=50")).object
    assert longer["metadata"]["deletionGracePeriodSeconds"] == 5
    cluster.perform(Request.of("DELETE", f"{PODS}/p?gracePeriodSeconds=0"))
    assert stored(cluster)["code"] == 404


def test_evictions_are_checked_after_admission(cluster: Cluster) -> None:
    """A missing namespace comes before the name, and the options of the deletion have the checks of any deletion."""
    pod(cluster)
    path = "/api/v1/namespaces/{}/pods/p/eviction"
    lost = cluster.perform(Request.of("POST", path.format("none"), {}))
    assert lost.object["message"] == 'namespaces "none" not found'
    named = {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["true"]}}
    refused = cluster.perform(Request.of("POST", path.format("default"), named))
    assert refused.object["message"].startswith('DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value')
