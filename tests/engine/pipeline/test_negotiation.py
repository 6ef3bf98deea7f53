"""Representations by Accept header."""

from __future__ import annotations

import orjson
import pytest

import simkit
from simkit.engine.pipeline.representation.negotiation import JSON, PROTOBUF, YAML, MediaTypeOptions, negotiate
from simkit.meta.domain import META_GROUP
from simkit.meta.errors import StatusError
from simkit.meta.message import Request, Response
from simkit.schema.behaviour import default_behaviour

TABLE = f"{JSON};as=Table;v=v1;g={META_GROUP}"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", MediaTypeOptions()),
        ("*/*", MediaTypeOptions()),
        (YAML, MediaTypeOptions(YAML)),
        (f"{YAML};q=0.1, {JSON}", MediaTypeOptions(JSON)),
        (f"text/html, {PROTOBUF}", MediaTypeOptions(PROTOBUF)),
        (f"{TABLE}, {JSON}", MediaTypeOptions(JSON, "Table", "v1")),
        (f"{TABLE.replace('v1', 'v9')}, {JSON}", MediaTypeOptions(JSON)),
        (f"{TABLE.replace(JSON, PROTOBUF)}, {JSON}", MediaTypeOptions(JSON)),
        (f"*/*, {YAML};q=0.1", MediaTypeOptions(YAML)),
        (f"application/*;q=0.9, {YAML};q=0.5", MediaTypeOptions(YAML)),
        (f"{JSON};stream=other, {YAML}", MediaTypeOptions(YAML)),
        (f"{JSON};sv=v2, {YAML}", MediaTypeOptions(YAML)),
        (f"{JSON};sv=v1", MediaTypeOptions(JSON)),
        (f"{JSON};pretty=1", MediaTypeOptions(JSON, pretty=True)),
        (f"{JSON};as=;g=;v=", MediaTypeOptions(JSON)),
        (f"{JSON};q= 1, {YAML};q=0.5", MediaTypeOptions(YAML)),
    ],
)
def test_first_acceptable_wins(accept: str, expected: MediaTypeOptions) -> None:
    """Weights order the clauses, unknown ones are passed over."""
    assert negotiate(default_behaviour("1.30"), accept) == expected


@pytest.mark.parametrize("accept", ["text/html", "application/*", "nonsense", "*", JSON.upper()])
def test_accept_headers_without_an_acceptable_type(accept: str) -> None:
    """A header without any known media type is 406, with the list of what there is."""
    with pytest.raises(StatusError) as caught:
        negotiate(default_behaviour("1.30"), accept)
    assert caught.value.code == 406
    assert JSON in caught.value.message


@pytest.mark.parametrize("accept", [TABLE.replace(JSON, PROTOBUF), f"{JSON};g={META_GROUP}", f"{JSON};as=Chart;v=v1"])
def test_no_such_transformation(accept: str) -> None:
    """A known media type with a transformation that cannot be had is refused with the list of media types."""
    with pytest.raises(StatusError, match="only the following media types are accepted"):
        negotiate(default_behaviour("1.30"), accept)


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("", "PartialObjectMetadata", "the requested object is a list (*core.ConfigMapList)"),
        ("/a", "PartialObjectMetadataList", "the requested object is not a list (*core.ConfigMap)"),
    ],
)
def test_metadata_of_lists_and_objects(path: str, kind: str, message: str) -> None:
    """Each of the two forms is for one of the two, in the version that was asked for."""
    cluster, maps = simkit.Cluster(seed=1), "/api/v1/namespaces/default/configmaps"
    cluster.perform(Request.of("POST", maps, {"metadata": {"name": "a"}}))
    accept = f"{JSON};as={kind};g={META_GROUP};v=v1beta1"
    refused = cluster.perform(Request.of("GET", f"{maps}{path}", headers={"accept": accept}))
    assert refused.status == 406
    assert refused.object["message"] == f"you requested {kind}, but {message}"
    other = "/a" if not path else ""
    taken = cluster.perform(Request.of("GET", f"{maps}{other}", headers={"accept": accept}))
    assert taken.object["apiVersion"] == f"{META_GROUP}/v1beta1"


GADGETS = "/apis/example.com/v1/namespaces/default/gadgets"


def with_gadget() -> simkit.Cluster:
    """A cluster with one object of a custom kind."""
    cluster = simkit.Cluster(seed=1)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "gadgets", "kind": "Gadget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "gadgets.example.com"}, "spec": spec}
    cluster.perform(Request.of("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition))
    cluster.perform(
        Request.of("POST", GADGETS, {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}})
    )
    return cluster


def test_a_custom_object_is_no_list() -> None:
    """Inside of kube-apiserver it could be one, and so it is refused in other words."""
    accept = f"{JSON};as=PartialObjectMetadataList;g={META_GROUP};v=v1"
    refused = with_gadget().perform(Request.of("GET", f"{GADGETS}/a", headers={"accept": accept}))
    assert (refused.status, refused.object["message"]) == (500, "content is not a list")


def test_custom_objects_have_no_binary_form() -> None:
    """Clients that would rather have protobuf get JSON where they take it; metadata alone has a binary form."""
    cluster = with_gadget()

    def asked(path: str, accept: str) -> tuple[int, str]:
        answer = cluster.perform(Request.of("GET", path, headers={"accept": accept}))
        if answer.stream is not None:
            answer.stream.close()
        return answer.status, answer.content_type

    metadata = f"{PROTOBUF};as=PartialObjectMetadata;g={META_GROUP};v=v1"
    for query in ("", "?watch=1"):
        assert asked(f"{GADGETS}{query}", f"{PROTOBUF}, {JSON}") == (200, JSON)
        assert asked(f"{GADGETS}{query}", PROTOBUF) == (406, PROTOBUF)
    assert asked(f"{GADGETS}/a", metadata) == (200, PROTOBUF)
    assert asked(f"{GADGETS}?watch=1", metadata) == (200, f"{PROTOBUF};stream=watch")


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    return simkit.Cluster()


def asked(cluster: simkit.Cluster, method: str, path: str, accept: str, body: object = None) -> Response:
    content = orjson.dumps(body) if body is not None else b""
    return cluster.perform(Request.of(method, path, content, headers={"accept": accept}))


def test_an_error_that_cannot_be_shown_is_indented(cluster: simkit.Cluster) -> None:
    """No Table of a Status, and no form without media type: the JSON of both has line breaks and no last one."""
    for accept in (TABLE, "text/html"):
        answer = asked(cluster, "GET", "/api/v1/namespaces/nope", accept)
        assert answer.body.startswith(b'{\n  "kind": "Status"')
        assert answer.body.endswith(b"}")
    plain = asked(cluster, "GET", "/api/v1/namespaces/nope", f"{TABLE}, {JSON}")
    assert (plain.status, plain.body[:16], plain.body[-1:]) == (404, b'{"kind":"Status"', b"\n")
    assert b'"status": "Failure"' in asked(cluster, "GET", "/api/v1/namespaces/nope", f"{JSON};pretty=1").body


@pytest.mark.parametrize(
    ("method", "path", "accept", "status"),
    [
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", TABLE, 405),
        ("PATCH", "/api/v1/namespaces/default/pods/a/log", JSON, 405),
        ("GET", "/api/v1/namespaces/default/pods/a/log", TABLE, 406),
        ("GET", "/api/v1/namespaces/default/pods/a/log", f"{TABLE}, {JSON}", 404),
        ("GET", "/apis/apps/v1/namespaces/default/deployments/a/scale", TABLE, 404),
        ("GET", "/version", YAML, 406),
        ("GET", "/logs/", JSON, 406),
        ("GET", "/.well-known/openid-configuration", "application/*", 406),
        ("GET", "/apis", "application/*", 200),
    ],
)
def test_methods_come_before_media_types(
    cluster: simkit.Cluster, method: str, path: str, accept: str, status: int
) -> None:
    """A method that a path does not have is 405 whatever is accepted; then each path has media types of its own."""
    assert asked(cluster, method, path, accept).status == status


def test_the_log_takes_plain_text_and_has_none(cluster: simkit.Cluster) -> None:
    """The path lists plain text among its media types; its answers are written in the others."""
    path = "/api/v1/namespaces/default/pods/a/log"
    assert "Available representations: text/plain, application/json" in str(asked(cluster, "GET", path, "x/y").body)
    assert "only the following media types are accepted" in str(asked(cluster, "GET", path, "text/plain").body)


def test_reviews_can_be_reduced_to_their_metadata(cluster: simkit.Cluster) -> None:
    """As all objects; there is no list of them."""
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    body = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    partial = f"{JSON};as=PartialObjectMetadata;g={META_GROUP};v=v1"
    assert orjson.loads(asked(cluster, "POST", path, partial, body).body)["kind"] == "PartialObjectMetadata"
    refused = asked(cluster, "POST", path, partial.replace("Metadata;", "MetadataList;"), body)
    assert (refused.status, b"*authorization.SelfSubjectAccessReview" in refused.body) == (406, True)


def test_an_empty_list_of_metadata_has_no_items(cluster: simkit.Cluster) -> None:
    """It is the empty slice of Go, which JSON shows as null."""
    accept = f"{JSON};as=PartialObjectMetadataList;g={META_GROUP};v=v1"
    assert orjson.loads(asked(cluster, "GET", "/api/v1/pods", accept).body)["items"] is None


def test_a_watch_for_lists_of_metadata_ends_at_its_first_event(cluster: simkit.Cluster) -> None:
    """An event holds one object, which is no list: the stream ends without a word."""
    accept = f"{JSON};as=PartialObjectMetadataList;g={META_GROUP};v=v1"
    stream = asked(cluster, "GET", "/api/v1/namespaces?watch=1", accept).stream
    assert stream is not None
    assert stream.poll() == []
    assert stream.closed


def test_long_texts_in_yaml_are_folded(cluster: simkit.Cluster) -> None:
    """At about 80 letters, as yaml.v2 folds them."""
    path = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"
    lines = asked(cluster, "GET", path, YAML).body.decode().splitlines()
    place = next(index for index, line in enumerate(lines) if line.startswith("description:"))
    assert lines[place].endswith("from their current")
    assert lines[place + 1] == "  node."
