"""Requests of parts of the process, which send and get objects and not their text."""

from __future__ import annotations

from typing import Any

from simkit.cluster.cluster import Cluster
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request, Response
from tests.simulation.worlds import pod

_ADMIN = Identity("admin", (MASTERS,))
_PODS = "/api/v1/namespaces/default/pods"


def sent(cluster: Cluster, method: str, path: str, obj: dict[str, Any]) -> Response:
    """The answer to an object that is sent as it is."""
    return cluster.perform(Request.of_object(method, path, obj), identity=_ADMIN)


def test_the_text_of_an_answer_is_made_on_demand() -> None:
    """The answer to a write shows what is stored, and its text is that of a GET."""
    cluster = Cluster(seed=1)
    answer = sent(cluster, "POST", _PODS, pod("a"))
    assert (answer.status, answer.size) == (201, 0)
    assert answer.shown["metadata"]["name"] == "a"
    assert answer.body == cluster.perform(Request.of("GET", f"{_PODS}/a"), identity=_ADMIN).body
    assert answer.size == len(answer.body)
    assert answer.object == answer.shown


def test_pods_of_one_template_share_its_parts() -> None:
    """Each is the same as one that came as text, and what a part lacks or has too much is told each time."""
    cluster = Cluster(seed=1)
    given = pod("a", image="nginx", automountServiceAccountToken=False)
    first, second, text = given, {**given, "metadata": {"name": "b"}}, {**given, "metadata": {"name": "c"}}
    shown = [sent(cluster, "POST", _PODS, each).shown["spec"] for each in (first, second)]
    shown.append(cluster.perform(Request.of("POST", _PODS, text), identity=_ADMIN).object["spec"])
    assert shown[0] == shown[1] == shown[2]
    assert shown[0]["containers"][0]["resources"] is shown[1]["containers"][0]["resources"]
    assert "imagePullPolicy" not in given["spec"]["containers"][0]
    for name in ("d", "e"):
        wrong = {**given, "metadata": {"name": name}, "spec": {**given["spec"], "unknown": 1}}
        assert ("Warning", '299 - "unknown field \\"spec.unknown\\""') in sent(cluster, "POST", _PODS, wrong).headers


def test_a_status_is_written_beside_the_stored_specification() -> None:
    """A status that comes with the stored object changes nothing else, as if it came as text."""
    cluster = Cluster(seed=1)
    live = sent(cluster, "POST", _PODS, pod("a")).shown
    answer = sent(cluster, "PUT", f"{_PODS}/a/status", {**live, "status": {**live["status"], "phase": "Running"}})
    assert answer.succeeded
    assert answer.shown["status"]["phase"] == "Running"
    assert answer.shown["spec"] == live["spec"]
    owners = {record["manager"]: record.get("subresource") for record in answer.shown["metadata"]["managedFields"]}
    assert owners == {"unknown": "status"} or set(owners) == {"unknown"}
