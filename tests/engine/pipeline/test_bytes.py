"""Answers byte for byte: the order of fields and keys, Go's escapes, and where lines end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request, Response

MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


@pytest.fixture
def cluster() -> Cluster:
    return simkit.Cluster(seed=1)


def ask(cluster: Cluster, method: str, path: str, body: Mapping[str, Any] | None = None, **headers: str) -> Response:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return cluster.perform(Request.of(method, path, body, headers=named))


def test_fields_stand_as_declared_and_keys_sorted(cluster: Cluster) -> None:
    """Whatever the order of a body, answers have that of the Go types, and maps are sorted: in GET, LIST and WATCH."""
    body = {"data": {"z": "1", "a": "2"}, "immutable": False, "metadata": {"labels": {"z": "1", "a": "2"}, "name": "m"}}
    made = ask(cluster, "POST", MAPS, body).body
    assert made.startswith(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","namespace":"default","uid":')
    assert b'"labels":{"a":"2","z":"1"},"managedFields":[' in made
    assert made.endswith(b'},"immutable":false,"data":{"a":"2","z":"1"}}\n')
    assert ask(cluster, "GET", f"{MAPS}/m").body == made
    within = made.removeprefix(b'{"kind":"ConfigMap","apiVersion":"v1",').rstrip()
    assert within in ask(cluster, "GET", f"{MAPS}?fieldSelector=metadata.name=m").body
    stream = ask(cluster, "GET", f"{MAPS}?watch=true&fieldSelector=metadata.name=m").stream
    assert stream is not None
    assert b"".join(stream.poll()) == b'{"type":"ADDED","object":' + made.rstrip() + b"}\n"
    stream.close()


def test_patches_and_controllers_keep_the_order(cluster: Cluster) -> None:
    """Fields that are added later stand where their type declares them."""
    ask(cluster, "POST", MAPS, {"metadata": {"name": "m"}, "data": {"b": "1"}})
    patch = {"metadata": {"labels": {"b": "1", "a": "1"}}, "data": {"a": "1"}, "immutable": True}
    found = ask(cluster, "PATCH", f"{MAPS}/m", patch, content_type="application/merge-patch+json").body
    assert b'"labels":{"a":"1","b":"1"}' in found
    assert found.endswith(b'"immutable":true,"data":{"a":"1","b":"1"}}\n')


def test_all_keys_of_custom_resources_are_sorted(cluster: Cluster) -> None:
    """Their kind and apiVersion stand among the other keys, in objects and in lists."""
    cluster.apply(DEFINITION)
    path = "/apis/example.com/v1/namespaces/default/gadgets"
    body = {
        "metadata": {"name": "g"},
        "kind": "Gadget",
        "apiVersion": "example.com/v1",
        "spec": {"b": 1, "a": 2},
        "also": 3,
    }
    made = ask(cluster, "POST", path, body).body
    assert made.startswith(b'{"also":3,"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"creationTimestamp":')
    assert made.endswith(b'"},"spec":{"a":2,"b":1}}\n')
    listed = ask(cluster, "GET", path).body
    assert listed.startswith(
        b'{"apiVersion":"example.com/v1","items":[' + made.rstrip() + b'],"kind":"GadgetList","metadata":{'
    )
    empty = ask(cluster, "GET", "/apis/example.com/v1/namespaces/other/gadgets").body
    assert re.fullmatch(
        rb'\{"apiVersion":"example.com/v1","items":\[\],"kind":"GadgetList",'
        rb'"metadata":\{"continue":"","resourceVersion":"\d+"\}\}\n',
        empty,
    )


def test_json_is_safe_in_html(cluster: Cluster) -> None:
    """Angle brackets, ampersands and line separators are escaped as Go does it: in objects, events and errors."""
    text = "<b>&\u2028"
    made = ask(cluster, "POST", MAPS, {"metadata": {"name": "m"}, "data": {"k": text}})
    assert rb'"data":{"k":"\u003cb\u003e\u0026\u2028"}' in made.body
    assert made.object["data"]["k"] == text
    assert rb"\u003cnil\u003e" not in made.body
    refused = ask(cluster, "GET", f"{MAPS}/%3Cb%3E")
    assert rb"configmaps \"\u003cb\u003e\" not found" in refused.body
    table = ask(cluster, "GET", f"{MAPS}/m", accept="application/json;as=Table;g=meta.k8s.io;v=v1;includeObject=Object")
    assert b"<" not in table.body


def test_pretty_answers_end_without_a_line_break(cluster: Cluster) -> None:
    """Indented JSON ends with its brace, other JSON with a line break."""
    assert ask(cluster, "GET", "/api/v1/namespaces/default?pretty=true").body.endswith(b"\n}")
    assert ask(cluster, "GET", "/api/v1/namespaces/default").body.endswith(b"}\n")
    ask(cluster, "POST", MAPS, {"metadata": {"name": "m"}, "data": {"k": "<"}})
    assert rb'"k": "\u003c"' in ask(cluster, "GET", f"{MAPS}/m?pretty=true").body


@pytest.mark.parametrize(
    ("name", "shown"), [("%05", r"\x05"), ("%C2%8A", r"\u008a"), ("%22", r"\""), ("%5C", r"\\"), ("%F0%9F%98%80", "😀")]
)
def test_messages_quote_as_go_does(cluster: Cluster, name: str, shown: str) -> None:
    """Names of objects in messages stand in the form of ``%q``."""
    assert ask(cluster, "GET", f"{MAPS}/a{name}").object["message"] == f'configmaps "a{shown}" not found'


def test_a_kind_alone_in_the_body_of_a_delete(cluster: Cluster) -> None:
    """It is of meta.k8s.io/v1."""
    ask(cluster, "POST", MAPS, {"metadata": {"name": "m"}})
    refused = ask(cluster, "DELETE", f"{MAPS}/m", {"kind": "ConfigMap"})
    assert 'no kind "ConfigMap" is registered for version "meta.k8s.io/v1"' in refused.object["message"]
    assert ask(cluster, "DELETE", f"{MAPS}/m", {"kind": "DeleteOptions"}).status == 200
