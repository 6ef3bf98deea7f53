"""Objects that nest too deeply are refused before they are stored, and no stored object spoils a list."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.cluster.cluster import Trial
from simkit.cluster.options import Options
from simkit.engine.storage.memory import MemoryStore
from simkit.engine.storage.sqlite import open_store
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, Key
from simkit.seams import Unstorable

PATH = "/apis/e.io/v1/namespaces/default/xs"
DEPTHS = (100, 150, 195, 200, *range(212, 262, 3), 300, 390, 410, 1000, 5000, 20000)
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "xs.e.io"},
    "spec": {
        "group": "e.io",
        "scope": "Namespaced",
        "names": {"plural": "xs", "kind": "X"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.fixture(scope="module")
def served() -> simkit.Cluster:
    """A cluster with a kind that takes everything."""
    cluster = simkit.Cluster(options=Options(seed=1, clock=SimulatedClock(), audit_policy=None))
    cluster.create(DEFINITION)
    return cluster


def _deep(levels: int, brackets: str = '{"a":') -> bytes:
    closing = {"{": b"}", "[": b"]"}[brackets[0]]
    return brackets.encode() * levels + b"1" + closing * levels


def _object(name: str, spec: bytes) -> bytes:
    return b'{"apiVersion":"e.io/v1","kind":"X","metadata":{"name":"%s"},"spec":%s}' % (name.encode(), spec)


def _send(cluster: simkit.Cluster | Trial, method: str, path: str, body: bytes, media: str) -> Response:
    return cluster.perform(Request.of(method, path, body, content_type=media))


def _lists(cluster: simkit.Cluster | Trial) -> None:
    """Every form in which stored objects are read can be written."""
    forms: tuple[Mapping[str, str], ...] = (
        {},
        {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
        {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
        {"accept": "application/yaml"},
    )
    for headers in forms:
        answer = cluster.perform(Request.of("GET", PATH, headers=headers))
        assert answer.status == 200, answer.body[:300]
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    assert cluster.perform(Request.of("GET", f"{PATH}?includeObject=Object", headers=table)).status == 200


@pytest.mark.parametrize("levels", DEPTHS)
def test_a_deep_object_is_stored_and_listed_or_refused(served: simkit.Cluster, levels: int) -> None:
    """Created, merged, applied, as JSON and as YAML: stored or refused, never 500, and lists still work."""
    with served.what_if() as cluster:
        body = _object("x", _deep(levels))
        answers = [
            _send(cluster, "POST", PATH, body, "application/json"),
            _send(cluster, "POST", PATH, _object("y", _deep(levels, "[")), "application/yaml"),
            _send(cluster, "POST", PATH, _object("z", b"{}"), "application/json"),
            _send(cluster, "PATCH", f"{PATH}/z", b'{"spec":%s}' % _deep(levels), "application/merge-patch+json"),
            _send(
                cluster,
                "PATCH",
                f"{PATH}/z",
                b'[{"op":"add","path":"/spec/b","value":%s}]' % _deep(levels),
                "application/json-patch+json",
            ),
            _send(
                cluster,
                "PATCH",
                f"{PATH}/w?fieldManager=m",
                _object("w", _deep(levels)),
                "application/apply-patch+yaml",
            ),
        ]
        assert {answer.status for answer in answers} <= {200, 201, 400, 422}, [each.body[:200] for each in answers]
        if levels <= 200:
            assert {answer.status for answer in answers} == {200, 201}
        _lists(cluster)


def test_depth_cannot_be_added_up(served: simkit.Cluster) -> None:
    """A JSON patch that puts one deep value under another is refused, however often it tries."""
    with served.what_if() as cluster:
        _send(cluster, "POST", PATH, _object("x", _deep(150)), "application/json")
        for steps in (1, 2, 10, 100):
            operations = []
            place = "/spec" + "/a" * 149
            for _ in range(steps):
                operations.append(b'{"op":"add","path":"%s/b","value":%s}' % (place.encode(), _deep(150)))
                place += "/b" + "/a" * 149
            body = b"[" + b",".join(operations) + b"]"
            answer = _send(cluster, "PATCH", f"{PATH}/x", body, "application/json-patch+json")
            assert answer.status in (400, 422), answer.body[:300]
        _lists(cluster)


def _bottomless(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("spoilt", [_bottomless(250), {"n": 2**70}, {"text": "\ud800"}, {"of": object()}])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_no_store_takes_what_it_could_not_write(kind: str, spoilt: Any, tmp_path: Path) -> None:
    """Put and seed refuse it, and what was there is still there."""
    clock = SimulatedClock()
    store = MemoryStore(clock) if kind == "memory" else open_store(tmp_path / "store.db", clock)
    key = Key(GroupResource("", "configmaps"), "default", "x")
    with pytest.raises(SimkitError, match="cannot be loaded"):
        store.seed([(key, {"metadata": {"name": "x"}, "data": spoilt})])
    entry = store.put(key, {"metadata": {"name": "x"}}, expect=None)
    with pytest.raises(Unstorable):
        store.put(key, {"metadata": {"name": "x"}, "data": spoilt}, expect=None)
    assert store.get(key) == entry
    assert store.revision == entry.revision
