"""Watches that begin with everything there is, behind the feature gate WatchList."""

from __future__ import annotations

import base64

import orjson
import pytest

import simkit
from simkit.cluster.options import Options
from simkit.engine.http.request_state import WatchStream
from simkit.meta.message import Request
from simkit.meta.objects import at
from tests.engine.pipeline.streams import ready

SECRETS = "/api/v1/namespaces/default/secrets"
BOOKMARKS = "allowWatchBookmarks=true"
ALL = f"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&{BOOKMARKS}"


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster with the gate open, and two secrets."""
    made = simkit.Cluster(options=Options(seed=1, feature_gates={"WatchList": True}))
    for name in "ab":
        create(made, name)
    return made


def create(cluster: simkit.Cluster, name: str) -> None:
    """Store a secret."""
    assert cluster.perform(Request.of("POST", SECRETS, {"metadata": {"name": name}})).status == 201


def told(stream: WatchStream) -> list[str]:
    """The events that are ready, in short: a type with a name, or ``end`` for the bookmark behind the first events."""
    found = []
    for frame in map(orjson.loads, ready(stream)):
        metadata = frame["object"]["metadata"]
        ends = metadata.get("annotations") == {"k8s.io/initial-events-end": "true"}
        found.append("end" if ends else f"{frame['type']} {metadata.get('name', '')}")
    return found


@pytest.mark.parametrize("query", [ALL, f"{ALL}&resourceVersion=0", BOOKMARKS, f"{BOOKMARKS}&resourceVersion=0"])
def test_everything_then_the_end(cluster: simkit.Cluster, query: str) -> None:
    """Present objects, a bookmark that ends them, then what comes; so begins every watch from nowhere."""
    stream = cluster.perform(Request.of("GET", f"{SECRETS}?watch=1&{query}")).stream
    assert told(stream) == ["ADDED a", "ADDED b", "end"]
    create(cluster, "c")
    assert told(stream) == ["ADDED c"]
    stream.close()


def test_the_end_waits_for_the_version(cluster: simkit.Cluster) -> None:
    """Asked to be at least at a version, the server tells of the end when it is there."""
    later = cluster.engine.store.revision + 2
    stream = cluster.perform(Request.of("GET", f"{SECRETS}?watch=1&{ALL}&resourceVersion={later}")).stream
    assert told(stream) == ["ADDED a", "ADDED b"]
    create(cluster, "c")
    assert told(stream) == ["ADDED c"]
    create(cluster, "d")
    assert told(stream) == ["ADDED d", "end"]
    stream.close()


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ("watch=1&sendInitialEvents=true", ["requires setting resourceVersionMatch to NotOlderThan"]),
        (
            "watch=1&sendInitialEvents=false&resourceVersionMatch=Exact",
            ["requires setting resourceVersionMatch to NotOlderThan", 'supported values: "NotOlderThan"'],
        ),
        (f"watch=1&{ALL}&continue=x", ["resourceVersionMatch is forbidden when continue is provided"]),
        (
            "resourceVersionMatch=Exact&sendInitialEvents=true",
            ["resourceVersionMatch is forbidden unless resourceVersion is provided", "is forbidden for list"],
        ),
    ],
)
def test_combinations_that_may_not_be(cluster: simkit.Cluster, query: str, errors: list[str]) -> None:
    """Each error is a cause of one 422, in kube-apiserver's order."""
    answer = cluster.perform(Request.of("GET", f"{SECRETS}?{query}"))
    assert answer.status == 422
    causes = [cause["message"] for cause in answer.object["details"]["causes"]]
    assert len(causes) == len(errors)
    assert all(error in cause for error, cause in zip(errors, causes, strict=True))


@pytest.mark.parametrize(
    ("resource", "path", "value"),
    [
        ("replicasets", ("spec", "replicas"), 0),
        ("deployments", ("spec", "replicas"), 0),
        ("statefulsets", ("spec", "replicas"), 0),
        ("daemonsets", ("metadata", "annotations", "deprecated.daemonset.template.generation"), "0"),
    ],
)
def test_the_end_is_an_object_without_values(
    cluster: simkit.Cluster, resource: str, path: tuple[str, ...], value: object
) -> None:
    """Workloads have values that are no pointers inside of kube-apiserver: these show as zeroes."""
    stream = cluster.perform(Request.of("GET", f"/apis/apps/v1/{resource}?watch=1&{ALL}")).stream
    [frame] = ready(stream)
    assert at(orjson.loads(frame)["object"], *path) == value
    stream.close()


@pytest.mark.parametrize(("release", "told"), [("1.31", False), ("1.32", True), ("1.33", True), ("1.34", False)])
@pytest.mark.parametrize(
    ("form", "empty"),
    [
        ("", {"kind": "SecretList", "apiVersion": "v1", "metadata": {}, "items": None}),
        (
            ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": None},
        ),
    ],
)
def test_the_end_holds_an_empty_list_in_two_releases(
    release: str, told: bool, form: str, empty: dict[str, object]
) -> None:
    """Clients could make a list of the first events from it, in the form that they asked for."""
    made = simkit.Cluster(options=Options(release=release, feature_gates={"WatchList": True}))
    path, headers = f"{SECRETS}?watch=1&{ALL}", {"accept": f"application/json{form}"}
    stream = made.perform(Request.of("GET", path, headers=headers)).stream
    annotations = orjson.loads(ready(stream)[-1])["object"]["metadata"]["annotations"]
    shown = annotations.get("kubernetes.io/initial-events-list-blueprint")
    assert (shown is not None) is told
    assert shown is None or orjson.loads(base64.b64decode(shown)) == empty
    stream.close()


def test_an_empty_list_that_cannot_be_written_is_an_error() -> None:
    """The two releases have no kind for lists of lists."""
    made = simkit.Cluster(options=Options(release="1.32"))
    headers = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    path = f"/apis/apps/v1/namespaces/default/deployments?watch=1&{ALL}"
    [frame] = ready(made.perform(Request.of("GET", path, headers=headers)).stream)
    event = orjson.loads(frame)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
    assert event["object"]["message"].startswith("no kind is registered for the type v1.DeploymentList in scheme ")
