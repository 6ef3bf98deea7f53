"""Which of two wrong things about a list is told: its options, or the form of the answer."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.message import Request

MAPS = "/api/v1/namespaces/default/configmaps"
UNKNOWN_FORM = {"accept": "application/json;as=Other;v=v1;g=meta.k8s.io"}
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def told(cluster: simkit.Cluster, query: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    """The status and the message of a list or watch."""
    answer = cluster.perform(Request.of("GET", f"{MAPS}?{query}", headers=headers or {}))
    return answer.status, answer.object.get("message", "")


@pytest.mark.parametrize("query", ["resourceVersionMatch=Exact", "sendInitialEvents=true"])
@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("labelSelector=a%3D%3D%3D", "unable to parse requirement: found '=', expected: identifier"),
        ("fieldSelector=%3D%3D%3D", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_selectors_are_read_before_options_are_compared(query: str, selector: str, message: str) -> None:
    """A selector that cannot be read is a bad request, whatever else does not fit together."""
    cluster = simkit.Cluster(seed=1)
    assert told(cluster, query)[0] == 422
    assert told(cluster, f"{selector}&{query}") == (400, message)


@pytest.mark.parametrize(
    ("release", "status"), [("1.30", 406), ("1.31", 406), ("1.32", 422), ("1.35", 422), ("1.36", 406)]
)
def test_options_come_first_in_four_releases(release: str, status: int) -> None:
    """From 1.32 to 1.35 options are checked before the form of the answer is settled."""
    cluster = simkit.Cluster(release=release)
    assert told(cluster, "resourceVersionMatch=Exact", UNKNOWN_FORM)[0] == status
    assert told(cluster, "labelSelector=a%3D%3D%3D", UNKNOWN_FORM)[0] == (400 if status == 422 else 406)
    assert told(cluster, "limit=1", UNKNOWN_FORM)[0] == 406


@pytest.mark.parametrize("release", ["1.30", "1.32", "1.33", "1.36"])
@pytest.mark.parametrize("query", ["resourceVersionMatch=Exact", "watch=true&resourceVersionMatch=Exact"])
def test_a_media_type_that_the_path_does_not_have_comes_before_all(release: str, query: str) -> None:
    """No handler is called, and so no options are looked at."""
    assert told(simkit.Cluster(release=release), query, {"accept": "text/plain"})[0] == 406


@pytest.mark.parametrize(("release", "status"), [("1.31", 200), ("1.32", 406), ("1.34", 200)])
def test_no_tables_of_watched_lists(release: str, status: int) -> None:
    """A watch that begins with a list has no Table as long as its end cannot be written in one."""
    cluster = simkit.Cluster(release=release)
    query = "watch=true&allowWatchBookmarks=true&timeoutSeconds=1"
    assert cluster.perform(Request.of("GET", f"{MAPS}?{query}", headers=TABLE)).status == status
    other = "watch=true&timeoutSeconds=1"
    assert cluster.perform(Request.of("GET", f"{MAPS}?{other}", headers=TABLE)).status == 200


@pytest.mark.parametrize(
    ("release", "message"),
    [
        ("1.30", "invalid resource version: resourceVersion: "),
        ("1.31", "invalid continue token: continue key is not valid: "),
    ],
)
def test_bad_tokens_are_told_before_bad_revisions_since_1_31(release: str, message: str) -> None:
    """A list that goes on has no revision of its own."""
    status, words = told(simkit.Cluster(release=release), "limit=1&continue=x&resourceVersion=-1")
    assert (status, words[: len(message)]) == (400, message)


@pytest.mark.parametrize(
    ("release", "status", "message"),
    [
        ("1.30", 400, "invalid resource version: resourceVersion: Invalid value: "),
        ("1.31", 500, "resourceVersion: Invalid value: "),
        ("1.32", 500, "resourceVersion: Invalid value: "),
        ("1.33", 400, "invalid resource version: resourceVersion: Invalid value: "),
    ],
)
def test_pages_of_the_cache_read_revisions_as_the_cache_does(release: str, status: int, message: str) -> None:
    """Since 1.31 pages that need not be exact come from it."""
    query = "limit=1&resourceVersion=x&resourceVersionMatch=NotOlderThan"
    found, words = told(simkit.Cluster(release=release), query)
    assert (found, words[: len(message)]) == (status, message)


def test_pages_of_the_cache_are_pages() -> None:
    """They end at their limit, unless any revision will do."""
    cluster = simkit.Cluster(release="1.33")
    for name in "ab":
        cluster.perform(Request.of("POST", MAPS, {"metadata": {"name": name}}))
    query = "limit=1&resourceVersionMatch=NotOlderThan"
    page = cluster.perform(Request.of("GET", f"{MAPS}?{query}&resourceVersion=1")).object
    assert ([each["metadata"]["name"] for each in page["items"]], bool(page["metadata"]["continue"])) == (["a"], True)
    assert len(cluster.perform(Request.of("GET", f"{MAPS}?{query}&resourceVersion=0")).object["items"]) >= 2
