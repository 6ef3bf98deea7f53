"""Watches on the old paths, their bookmarks, and what rows of a Table carry."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

import simkit
from simkit.meta.message import Request, Response
from tests.engine.pipeline.streams import ready

MAPS = "/api/v1/namespaces/default/configmaps"
OLD = "/api/v1/watch/namespaces/default/configmaps"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A cluster with two config maps."""
    made = simkit.Cluster(seed=1)
    for name in "ab":
        made.perform(Request.of("POST", MAPS, {"metadata": {"name": name}}))
    return made


def get(cluster: simkit.Cluster, path: str, accept: str = "") -> Response:
    """The answer to a GET."""
    return cluster.perform(Request.of("GET", path, headers={"Accept": accept} if accept else {}))


def names(response: Response) -> list[str]:
    """The names of the objects that a watch begins with."""
    return [orjson.loads(frame)["object"]["metadata"]["name"] for frame in ready(response.stream)]


def test_a_namespace_is_watched_by_its_old_path(cluster: simkit.Cluster) -> None:
    """``/watch/namespaces/x`` is about the namespace itself, not about what is in it."""
    assert names(get(cluster, "/api/v1/watch/namespaces/default")) == ["default"]
    assert names(get(cluster, f"{OLD}/b")) == ["b"]


@pytest.mark.parametrize("path", ["apps/v1/watch/deployments/x", "v1/watch/bindings", "v1/watch/componentstatuses"])
def test_old_paths_that_there_never_were(cluster: simkit.Cluster, path: str) -> None:
    """A name needs its namespace, and what cannot be watched has no such path."""
    assert get(cluster, f"/{'apis' if path.startswith('apps') else 'api'}/{path}").status == 404


@pytest.mark.parametrize("selector", ["metadata.name%3Db", "metadata.namespace%3Ddefault"])
def test_an_old_path_and_its_selector_name_the_same(cluster: simkit.Cluster, selector: str) -> None:
    """A field selector beside a name in the path must name the same object."""
    refused = get(cluster, f"{OLD}/a?fieldSelector={selector}")
    assert refused.status == 400
    assert refused.object["message"] == "fieldSelector metadata.name doesn't match requested name"
    assert names(get(cluster, f"{OLD}/a?fieldSelector=metadata.name%3Da")) == ["a"]


@pytest.mark.parametrize(
    ("path", "accept", "expected"),
    [
        (MAPS, "", {"kind": "ConfigMap", "apiVersion": "v1"}),
        (MAPS, PARTIAL, {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}),
        ("/api/v1/pods", "", {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": None}, "status": {}}),
    ],
)
def test_bookmarks_have_the_form_of_the_events(
    cluster: simkit.Cluster, path: str, accept: str, expected: dict[str, Any]
) -> None:
    """A bookmark is an empty object of the kind, in the representation of the stream."""
    stream = get(cluster, f"{path}?watch=1&allowWatchBookmarks=true", accept).stream
    ready(stream)
    shown = orjson.loads(stream.bookmark()[0])["object"]
    assert shown.pop("metadata") == {"resourceVersion": shown_revision(cluster), "creationTimestamp": None}
    assert shown == expected


def test_bookmarks_of_tables(cluster: simkit.Cluster) -> None:
    """In a stream of Tables a bookmark is a Table of one row without a name."""
    stream = get(cluster, f"{MAPS}?watch=1&allowWatchBookmarks=true", TABLE).stream
    ready(stream)
    shown = orjson.loads(stream.bookmark()[0])["object"]
    assert (shown["kind"], shown["columnDefinitions"], len(shown["rows"])) == ("Table", None, 1)
    assert shown["rows"][0]["object"]["metadata"]["resourceVersion"] == shown_revision(cluster)


def shown_revision(cluster: simkit.Cluster) -> str:
    """The revision as objects show it."""
    return str(cluster.engine.store.revision)


def test_rows_of_single_objects_carry_what_is_asked(cluster: simkit.Cluster) -> None:
    """``includeObject`` counts for every Table, not for lists alone."""
    row = get(cluster, f"{MAPS}/a?includeObject=Object", TABLE).object["rows"][0]
    assert row["object"]["kind"] == "ConfigMap"
    assert get(cluster, f"{MAPS}/a?includeObject=All", TABLE).status == 400
    assert get(cluster, f"{MAPS}?watch=1&includeObject=All", TABLE).status == 400
    created = cluster.perform(
        Request.of("POST", f"{MAPS}?includeObject=None", {"metadata": {"name": "c"}}, headers={"Accept": TABLE})
    )
    assert created.object["rows"][0]["object"] is None


@pytest.mark.parametrize(
    ("resource", "why"),
    [
        ("configmaps", "too old resource version: 1 ("),
        ("events", "The resourceVersion for the provided watch is too old."),
    ],
)
def test_versions_that_are_forgotten(cluster: simkit.Cluster, resource: str, why: str) -> None:
    """A watch from before the history ends with an error; of events, which are not cached, the store tells it."""
    stream = get(cluster, f"/api/v1/{resource}?watch=1&resourceVersion=1").stream
    told = orjson.loads(stream.poll()[0])
    assert (told["type"], told["object"]["code"]) == ("ERROR", 410)
    assert told["object"]["message"].startswith(why)
