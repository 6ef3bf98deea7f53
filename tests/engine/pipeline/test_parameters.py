"""Query parameters that are wrong, and what the real server says to them."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.message import Request, Response

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A cluster with three config maps."""
    made = simkit.Cluster(seed=1)
    for name in "abc":
        made.perform(Request.of("POST", MAPS, {"metadata": {"name": name, "labels": {"made": "here"}}}))
    return made


def get(cluster: simkit.Cluster, query: str, **headers: str) -> Response:
    """The answer to a list with a query."""
    return cluster.perform(Request.of("GET", f"{MAPS}?{query}", headers=headers))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("limit=", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("limit=1_0", 'strconv.ParseInt: parsing "1_0": invalid syntax'),
        ("limit=9223372036854775808", 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
        ("timeoutSeconds=" + "9" * 5000, f'strconv.ParseInt: parsing "{"9" * 5000}": value out of range'),
        ("timeout=x", 'invalid timeout specified in the request URL - time: invalid duration "x"'),
        ("timeout=5", 'invalid timeout specified in the request URL - time: missing unit in duration "5"'),
        ("timeout=5y", 'invalid timeout specified in the request URL - time: unknown unit "y" in duration "5y"'),
        (
            "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIuLi94In0",
            "invalid continue token: continue key is not valid: ../x",
        ),
        (
            "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NX0",
            "invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
        ),
    ],
)
def test_what_is_no_value_is_a_bad_request(cluster: simkit.Cluster, query: str, message: str) -> None:
    """Numbers, lengths of time and tokens are read as strictly as there."""
    answer = get(cluster, query)
    assert (answer.status, answer.object["reason"], answer.object["message"]) == (400, "BadRequest", message)


@pytest.mark.parametrize("query", ["limit=-1", "limit=0", "timeout=32s", "timeout=", "timeoutSeconds=-5"])
def test_odd_values_that_are_taken(cluster: simkit.Cluster, query: str) -> None:
    """Numbers below zero and lengths of time beyond all limits mean nothing."""
    assert len(get(cluster, f"labelSelector=made&{query}").object["items"]) == 3


@pytest.mark.parametrize(
    ("version", "why"),
    [("-1", "invalid syntax"), ("1.5", "invalid syntax"), ("18446744073709551616", "value out of range")],
)
def test_what_is_no_version(cluster: simkit.Cluster, version: str, why: str) -> None:
    """A resourceVersion that is no number is a 500 without reason."""
    answer = get(cluster, f"resourceVersion={version}")
    assert (answer.status, "reason" in answer.object) == (500, False)
    assert answer.object["message"].endswith(f'strconv.ParseUint: parsing "{version}": {why}')


@pytest.mark.parametrize(
    ("query", "agent", "accept", "indented"),
    [
        ("pretty=true", "", "", True),
        ("pretty=1", "", "", True),
        ("pretty=maybe", "", "", False),
        ("pretty=", "curl/8", "", True),
        ("pretty=false", "curl/8", "", False),
        ("", "Mozilla/5.0", "", True),
        ("", "", "application/json;pretty=1", True),
    ],
)
def test_indented_answers(cluster: simkit.Cluster, query: str, agent: str, accept: str, indented: bool) -> None:
    """Answers are indented when that is asked for, and for browsers and curl unless they say no."""
    body = get(cluster, query, **{"user-agent": agent, "accept": accept}).body
    assert body.startswith(b"{\n ") == indented


def test_a_collection_is_deleted_in_chunks() -> None:
    """What goes is one chunk of a list, and the answer says where the next one starts."""
    cluster = simkit.Cluster(seed=1)
    for name in "abc":
        cluster.perform(Request.of("POST", MAPS, {"metadata": {"name": name}}))
    fields = "fieldSelector=metadata.name!%3Dkube-root-ca.crt"
    first = cluster.perform(Request.of("DELETE", f"{MAPS}?limit=2&{fields}")).object
    assert [item["metadata"]["name"] for item in first["items"]] == ["a", "b"]
    token = first["metadata"]["continue"]
    second = cluster.perform(Request.of("DELETE", f"{MAPS}?limit=2&continue={token}&{fields}")).object
    assert [item["metadata"]["name"] for item in second["items"]] == ["c"]
    assert "continue" not in second["metadata"]


def test_delete_options_in_binary_form() -> None:
    """Clients that speak protobuf send the options of a delete in it; what is none is a 500 without reason."""
    from simkit.schema import binary

    cluster = simkit.Cluster(seed=1)
    cluster.perform(Request.of("POST", MAPS, {"metadata": {"name": "a"}}))
    media = "application/vnd.kubernetes.protobuf"
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "other"}}
    refused = cluster.perform(Request.of("DELETE", f"{MAPS}/a", binary.encode(options), content_type=media))
    assert (refused.status, refused.object["reason"]) == (409, "Conflict")
    broken = cluster.perform(Request.of("DELETE", f"{MAPS}/a", b"\x00\x01", content_type=media))
    assert (broken.status, "reason" in broken.object) == (500, False)
    plain = binary.encode({"kind": "DeleteOptions", "apiVersion": "v1"})
    assert cluster.perform(Request.of("DELETE", f"{MAPS}/a", plain, content_type=media)).status == 200
