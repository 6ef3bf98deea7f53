"""Query parameters that are wrong, and what kube-apiserver says to them."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.message import Request, Response

pytestmark = pytest.mark.slow

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
def test_malformed_values_are_bad_requests(cluster: simkit.Cluster, query: str, message: str) -> None:
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
def test_malformed_versions(cluster: simkit.Cluster, version: str, why: str) -> None:
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
    """A delete removes one chunk of a list, and its answer has the token of the next one."""
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


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("abc=", "illegal base64 data at input byte 3"),
        ("abcde", "illegal base64 data at input byte 4"),
        ("bnVs", "unexpected end of JSON input"),
        ("eyJ2", "unexpected end of JSON input"),
        ("bm9wZQ", "invalid character 'o' in literal null (expecting 'u')"),
        ("WzFd", "json: cannot unmarshal array into Go value of type storage.continueToken"),
        ("eyJ2IjoxfQ", "json: cannot unmarshal number into Go struct field continueToken.v of type string"),
        ("eyJydiI6MS41fQ", "json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64"),
    ],
)
def test_broken_tokens_tell_where_they_break(cluster: simkit.Cluster, token: str, why: str) -> None:
    """Tokens with bad base64, bad JSON, or JSON of another shape are refused in the parser's words."""
    answer = get(cluster, f"continue={token}")
    assert answer.object["message"] == f"invalid continue token: continue key is not valid: {why}"


def test_the_token_is_read_before_the_version(cluster: simkit.Cluster) -> None:
    """Of a broken token and a version that may not stand beside it the token is told; a broken version before both."""
    assert "base64" in get(cluster, "continue=*&resourceVersion=5").object["message"]
    assert get(cluster, "continue=*&resourceVersion=x").object["message"].startswith("invalid resource version: ")


@pytest.mark.parametrize("query", ["limit=1&resourceVersion=x", "resourceVersion=x&resourceVersionMatch=Exact"])
def test_versions_of_stored_reads(cluster: simkit.Cluster, query: str) -> None:
    """If kube-apiserver reads its store and not its cache, a malformed version is a 400."""
    answer = get(cluster, query)
    shown = 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'
    assert (answer.status, answer.object["message"]) == (400, f"invalid resource version: {shown}")


def test_stored_reads_do_not_wait(cluster: simkit.Cluster) -> None:
    """A chunk not older than a revision that is to come is refused at once, without advice to come again."""
    answer = get(cluster, "limit=1&resourceVersion=999999&resourceVersionMatch=NotOlderThan")
    assert (answer.status, "retryAfterSeconds" in answer.object["details"]) == (504, False)
    cached = get(cluster, "resourceVersion=999999")
    assert (cached.status, cached.object["details"]["retryAfterSeconds"]) == (504, 1)


def test_reads_of_the_cache_know_no_limit(cluster: simkit.Cluster) -> None:
    """With resourceVersion 0 the whole list comes, as from kube-apiserver's cache; events are not cached."""
    answer = get(cluster, "labelSelector=made&limit=1&resourceVersion=0")
    assert (len(answer.object["items"]), "continue" in answer.object["metadata"]) == (3, False)
    events = "/api/v1/namespaces/default/events"
    for name in "ab":
        about = {"metadata": {"name": name}, "involvedObject": {"namespace": "default"}}
        cluster.perform(Request.of("POST", events, about))
    first = cluster.perform(Request.of("GET", f"{events}?limit=1&resourceVersion=0"))
    assert len(first.object["items"]) == 1
    assert cluster.perform(Request.of("GET", f"{events}/a?resourceVersion=x")).status == 400


def test_one_name_knows_no_chunks(cluster: simkit.Cluster) -> None:
    """A list of one name is the read of one key: a limit does not make its version the exact one."""
    assert get(cluster, "fieldSelector=metadata.name%3Da&limit=1&resourceVersion=999999").status == 504
    assert get(cluster, "limit=1&resourceVersion=999999").status == 500


def test_a_collection_is_deleted_as_of_its_version(cluster: simkit.Cluster) -> None:
    """A deletion lists in chunks, so that a resourceVersion means exactly that one; what went since is in the list."""
    where = "/api/v1/namespaces/default/secrets"
    first = cluster.perform(Request.of("POST", where, {"metadata": {"name": "a"}})).object
    cluster.perform(Request.of("POST", where, {"metadata": {"name": "b"}}))
    cluster.perform(Request.of("DELETE", f"{where}/a"))
    version = first["metadata"]["resourceVersion"]
    answer = cluster.perform(Request.of("DELETE", f"{where}?resourceVersion={version}"))
    assert [item["metadata"]["name"] for item in answer.object["items"]] == ["a"]
    assert cluster.perform(Request.of("GET", f"{where}/b")).status == 200
    assert cluster.perform(Request.of("DELETE", f"{where}?resourceVersion=x")).status == 400


def test_all_that_is_wrong_with_a_deletion_is_told(cluster: simkit.Cluster) -> None:
    """A policy that there is not, beside the old word for one, is wrong in two ways."""
    answer = cluster.perform(Request.of("DELETE", f"{MAPS}/a?propagationPolicy=Bogus&orphanDependents=true&dryRun=x"))
    assert [cause["reason"] for cause in answer.object["details"]["causes"]] == [
        "FieldValueInvalid",
        "FieldValueNotSupported",
        "FieldValueNotSupported",
    ]


def test_selectors_are_read_before_the_body_of_a_deletion(cluster: simkit.Cluster) -> None:
    """Of a selector and a body that cannot be read the selector is told."""
    answer = cluster.perform(Request.of("DELETE", f"{MAPS}?labelSelector=a%20b", b"{bad"))
    assert (answer.status, answer.object["reason"]) == (400, "BadRequest")
