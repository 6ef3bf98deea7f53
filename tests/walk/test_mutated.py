"""Objects that are well but for a value or two are answered, however they are sent."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import simkit
from simkit.meta.message import Request
from simkit.meta.objects import copied
from simkit.schema.resources import Resource
from tests.kinds import bases, made
from tests.walk.test_fuzz import KNOWN_500

pytestmark = pytest.mark.slow

WIDGET: dict[str, Any] = {
    "spec": {
        "n": 1,
        "list": [{"name": "x"}],
        "set": ["a"],
        "free": {"a": [1]},
        "pod": {"apiVersion": "v1", "kind": "Pod"},
    }
}
OBJECTS = {**bases.BASES, **made.BASES, "example.com/v1/Widget": WIDGET}
"""The least object of every kind."""
HOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""Kinds that make the server ask somebody who is not there, and then fail rightly."""
ABOUT = {
    "name": "a",
    "labels": {"a": "b"},
    "annotations": {"a": "b"},
    "finalizers": ["example.com/a"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}],
}
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**31, 2**63, 1.5, "", "x", "a/b", "1Gi", "2020-01-01T00:00:00Z", "\0", "y" * 300),
    *([], [None], ["x"], [[]], [{}], ["x", "x"], {}, {"x": None}, {"name": "a"}, [{"name": "a"}, {"name": "a"}]),
    *({"$patch": "delete"}, [{"$patch": "replace"}], {"matchLabels": {"a": "b"}}),
)
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "default": 1},
                "list": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                },
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "pod": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
        }
    },
}
PATCHES = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """One cluster for all examples, which knows a custom kind."""
    made = simkit.Cluster(seed=1)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    names = {"kind": "Widget", "plural": "widgets"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert made.perform(Request.of("POST", definitions, definition)).status == 201
    made.settle()
    return made


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values inside a value."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in children:
        yield (*above, key)
        yield from places(item, (*above, key))


def changed(data: st.DataObject, obj: Any) -> Any:
    """The object with an odd value somewhere."""
    *above, last = data.draw(st.sampled_from(list(places(obj))))
    holder = obj
    for step in above:
        holder = holder[step]
    holder[last] = copied(data.draw(st.sampled_from(ODD)))
    return obj


def pointer(steps: tuple[Any, ...]) -> str:
    """A path as JSON patches write it."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def collections(cluster: simkit.Cluster) -> dict[str, Resource]:
    """The resources of the kinds that are served."""
    found = {f"{each.gvk.api_version}/{each.kind}": each for each in cluster.engine.catalogue.resources()}
    return {word: found[word] for word in sorted(OBJECTS) if word in found and not word.endswith(HOOKS)}


def request(cluster: simkit.Cluster, data: st.DataObject) -> Request:
    """An object with an odd value or two on its way to where objects of its kind are."""
    word, resource = data.draw(st.sampled_from(list(collections(cluster).items())))
    api_version, _, kind = word.rpartition("/")
    scope = "/namespaces/default" if resource.namespaced else ""
    where = f"{resource.path}{scope}/{resource.resource}"
    obj = copied({"apiVersion": api_version, "kind": kind, "metadata": ABOUT, **OBJECTS[word]})
    for _ in range(data.draw(st.integers(1, 2))):
        obj = changed(data, obj)
    method = data.draw(st.sampled_from(["POST", "PUT", "PATCH", *PATCHES]))
    if method == "POST":
        return Request.of("POST", where, obj)
    if method == "PUT":
        return Request.of("PUT", f"{where}/a", obj)
    if method != "PATCH":
        headers = {"Content-Type": method}
        return Request.of("PATCH", f"{where}/a?fieldManager=m", orjson.dumps(obj), headers=headers)
    path = pointer(data.draw(st.sampled_from(list(places(obj)))))
    kind_of_change = data.draw(st.sampled_from(["add", "remove", "replace", "copy", "move", "test"]))
    operation = {"op": kind_of_change, "path": path, "from": path, "value": data.draw(st.sampled_from(ODD))}
    return Request.of("PATCH", f"{where}/a", [operation], headers={"Content-Type": "application/json-patch+json"})


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_objects_with_odd_values_are_answered(
    cluster: simkit.Cluster, caplog: pytest.LogCaptureFixture, data: st.DataObject
) -> None:
    """A value of any type anywhere: taken or refused, and no error of our own."""
    asked = request(cluster, data)
    with caplog.at_level(logging.ERROR, "simkit"):
        answer = cluster.perform(asked)
    assert not caplog.records, (asked, caplog.text)
    assert answer.status != 500 or answer.object.get("reason", "") in KNOWN_500, (asked, answer.object)
