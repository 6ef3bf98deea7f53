"""Which representation an Accept header asks for."""

from __future__ import annotations

import pytest

import simkit
from simkit.engine.pipeline.representation.negotiation import JSON, PROTOBUF, YAML, MediaTypeOptions, negotiate
from simkit.meta.domain import META_GROUP
from simkit.meta.errors import StatusError
from simkit.meta.message import Request

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
    ],
)
def test_first_acceptable_wins(accept: str, expected: MediaTypeOptions) -> None:
    """Weights order the clauses, unknown ones are passed over."""
    assert negotiate(accept) == expected


@pytest.mark.parametrize("accept", ["text/html", "application/*", "nonsense", "*", JSON.upper()])
def test_nothing_acceptable(accept: str) -> None:
    """A header without any known media type is 406, with the list of what there is."""
    with pytest.raises(StatusError) as caught:
        negotiate(accept)
    assert caught.value.code == 406
    assert JSON in caught.value.message


@pytest.mark.parametrize("accept", [TABLE.replace(JSON, PROTOBUF), f"{JSON};g={META_GROUP}", f"{JSON};as=Chart;v=v1"])
def test_no_such_transformation(accept: str) -> None:
    """A known media type with a transformation that cannot be had is refused with the list of media types."""
    with pytest.raises(StatusError, match="only the following media types are accepted"):
        negotiate(accept)


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


def test_custom_objects_have_no_binary_form() -> None:
    """Clients that would rather have protobuf get JSON where they take it; metadata alone has a binary form."""
    cluster, gadgets = simkit.Cluster(seed=1), "/apis/example.com/v1/namespaces/default/gadgets"
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "gadgets", "kind": "Gadget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "gadgets.example.com"}, "spec": spec}
    cluster.perform(Request.of("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition))
    cluster.perform(
        Request.of("POST", gadgets, {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}})
    )

    def asked(path: str, accept: str) -> tuple[int, str]:
        answer = cluster.perform(Request.of("GET", path, headers={"accept": accept}))
        if answer.stream is not None:
            answer.stream.close()
        return answer.status, answer.content_type

    metadata = f"{PROTOBUF};as=PartialObjectMetadata;g={META_GROUP};v=v1"
    for query in ("", "?watch=1"):
        assert asked(f"{gadgets}{query}", f"{PROTOBUF}, {JSON}") == (200, JSON)
        assert asked(f"{gadgets}{query}", PROTOBUF) == (406, PROTOBUF)
    assert asked(f"{gadgets}/a", metadata) == (200, PROTOBUF)
    assert asked(f"{gadgets}?watch=1", metadata) == (200, f"{PROTOBUF};stream=watch")
