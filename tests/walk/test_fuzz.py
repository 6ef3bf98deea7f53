"""Whatever a client sends is answered: nothing makes the engine stumble."""

from __future__ import annotations

import logging
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import simkit
from simkit.meta.message import Request
from simkit.schema.catalogue import Catalogue

pytestmark = pytest.mark.slow

RESOURCES = Catalogue.for_release("1.30").resources()
WORDS = st.sampled_from(
    [
        "a",
        "default",
        "status",
        "scale",
        "log",
        "watch",
        "namespaces",
        "pods",
        "v1",
        "",
        "..",
        "%2f",
        "%00",
        "ä",
        "A" * 300,
    ]
)
MEDIA = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "application/vnd.kubernetes.protobuf",
        "text/plain",
        "",
    ]
)
ACCEPT = st.sampled_from(
    [
        "",
        "application/json",
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "text/html",
        ";;",
        "*/*",
    ]
)
QUERY = st.dictionaries(
    st.sampled_from(
        [
            "labelSelector",
            "fieldSelector",
            "limit",
            "continue",
            "resourceVersion",
            "resourceVersionMatch",
            "dryRun",
            "fieldManager",
            "fieldValidation",
            "force",
            "pretty",
            "propagationPolicy",
            "gracePeriodSeconds",
            "includeObject",
        ]
    ),
    st.sampled_from(
        ["", "x", "0", "1", "-1", "true", "All", "Strict", "a=b", "a in (b)", "metadata.name=a", "9" * 30, "e30"]
    ),
    max_size=3,
)
SCALARS = st.none() | st.booleans() | st.integers(-(2**31), 2**40) | st.floats(allow_nan=False) | st.text(max_size=8)
FIELDS = st.sampled_from(
    [
        "metadata",
        "name",
        "namespace",
        "labels",
        "spec",
        "status",
        "data",
        "rules",
        "subjects",
        "roleRef",
        "template",
        "x",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4), max_leaves=12
)
BODIES = st.one_of(
    st.binary(max_size=30),
    VALUES.map(orjson.dumps),
    st.dictionaries(FIELDS, VALUES, max_size=5).map(lambda obj: orjson.dumps({**obj, "metadata": {"name": "a"}})),
)

# 500 is what kube-apiserver says to these: a version that is no number, a patch that cannot be merged, an intent that
# does not fit. Such an answer has no reason; an error of ours would be an InternalError.
KNOWN_500 = ("", "ServerTimeout")


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """One cluster for all examples: they may leave in it what they like."""
    return simkit.Cluster(seed=1)


def _target(data: st.DataObject) -> str:
    if data.draw(st.booleans()):
        return "/" + "/".join(data.draw(st.lists(WORDS, max_size=7)))
    resource = data.draw(st.sampled_from(RESOURCES))
    scope = "/namespaces/default" if resource.namespaced and data.draw(st.booleans()) else ""
    tail = data.draw(st.sampled_from(["", "/a", "/a/status", *(f"/a/{name}" for name in resource.subresources)]))
    return f"{resource.path}{scope}/{resource.resource}{tail}"


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_request_is_answered(
    cluster: simkit.Cluster, caplog: pytest.LogCaptureFixture, data: st.DataObject
) -> None:
    """Paths, options, media types and bodies at random: a Status or an object, and no error of our own."""
    method = data.draw(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]))
    query = {name: [value] for name, value in data.draw(QUERY).items()}
    headers = {"content-type": [data.draw(MEDIA)], "accept": [data.draw(ACCEPT)]}
    body = data.draw(BODIES) if method in ("POST", "PUT", "PATCH", "DELETE") else b""
    request = Request(method, _target(data), query, headers, body)
    with caplog.at_level(logging.ERROR, "simkit"):
        response = cluster.perform(request)
    assert not caplog.records, (request, caplog.text)
    if response.status == 500 and response.content_type == "application/json":
        assert response.object.get("reason", "") in KNOWN_500, (request, response.object)
    if response.stream is not None:
        response.stream.poll()
        response.stream.close()
