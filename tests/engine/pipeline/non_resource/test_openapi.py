"""The API's description as clients keep it: by marks of its content."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.message import Request, Response

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
DEFINITION = {
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A fresh cluster."""
    return simkit.Cluster(seed=1)


def get(cluster: simkit.Cluster, path: str, **headers: str) -> tuple[Response, dict[str, str]]:
    """An answer and its headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = cluster.perform(Request.of("GET", path, headers=named))
    return answer, dict(answer.headers)


@pytest.mark.parametrize(("path", "accept"), [("/openapi/v2", ""), ("/openapi/v3/api/v1", ""), ("/apis", AGGREGATED)])
def test_an_unchanged_document_is_not_sent_again(cluster: simkit.Cluster, path: str, accept: str) -> None:
    """A client that shows the mark of what it has gets 304, until a new kind changes the content."""
    answer, headers = get(cluster, path, accept=accept)
    assert answer.status == 200
    assert headers["Vary"] == "Accept"
    known, _ = get(cluster, path, accept=accept, if_none_match=headers["ETag"])
    assert (known.status, known.body) == (304, b"")
    cluster.perform(Request.of("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION))
    changed = path != "/openapi/v3/api/v1"
    after, _ = get(cluster, path, accept=accept, if_none_match=headers["ETag"])
    assert after.status == (200 if changed else 304)


def test_links_carry_the_mark(cluster: simkit.Cluster) -> None:
    """A document under its right mark may be kept for ever; an old mark leads on to the new one."""
    links = get(cluster, "/openapi/v3")[0].object["paths"]
    link = links["apis/apps/v1"]["serverRelativeURL"]
    answer, headers = get(cluster, link)
    assert (answer.status, headers["Cache-Control"]) == (200, "public, immutable")
    assert headers["Expires"].endswith("GMT")
    assert headers["ETag"].strip('"') == link.partition("hash=")[2]
    moved, where = get(cluster, "/openapi/v3/apis/apps/v1?hash=OLD")
    assert (moved.status, where["Location"]) == (301, link)
    assert "Cache-Control" not in get(cluster, "/openapi/v3/apis/apps/v1")[1]


def test_old_watch_paths_are_read_only(cluster: simkit.Cluster) -> None:
    """Only GET is a watch; a watch of no seconds lasts as long as the server likes."""
    path = "/api/v1/watch/namespaces/default/configmaps"
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert cluster.perform(Request.of(method, path, {})).status == 405
    stream = get(cluster, f"{path}?timeoutSeconds=0")[0].stream
    assert stream.deadline is None
    stream.close()
