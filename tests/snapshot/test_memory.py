"""Snapshots in memory: order, completeness, versions, the two views of events."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simkit
from simkit.meta.errors import IncompleteSnapshot, SimkitError
from simkit.meta.names import GroupResource, Key
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.memory import MemorySnapshot

MAPS = GroupResource("", "configmaps")
NODES = GroupResource("", "nodes")
EVENTS = GroupResource("", "events")
GROUP_EVENTS = GroupResource("events.k8s.io", "events")


def config(name: str, namespace: str = "shop", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


names = st.text("ab-", min_size=1, max_size=3)


@given(st.lists(st.tuples(names, names)))
def test_scans_agree_with_a_naive_model(pairs: list[tuple[str, str]]) -> None:
    """Objects come by namespace and name, each once, whole or one namespace at a time."""
    snapshot: Snapshot = MemorySnapshot([config(name, space) for space, name in pairs], captured=[MAPS])
    found = [(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in snapshot.scan(MAPS)]
    assert found == sorted(set(pairs))
    for space in {space for space, _ in pairs} | {"none"}:
        inside = [obj["metadata"]["name"] for obj in snapshot.scan(MAPS, space)]
        assert inside == sorted({name for where, name in pairs if where == space})
    assert all(snapshot.get(MAPS, name, space) for space, name in pairs)


def test_the_later_of_two_counts() -> None:
    """As in a dump."""
    snapshot = MemorySnapshot([config("a", x="1"), config("a", x="2")])
    assert len(snapshot) == 1
    assert snapshot.get(MAPS, "a", "shop") == config("a", x="2")


def test_none_exist_differs_from_not_captured() -> None:
    """A captured resource answers with an empty list; another one raises and says how to capture it."""
    snapshot = MemorySnapshot([config("a")], captured=["configmaps", "no"])
    assert snapshot.captured() == {MAPS, NODES}
    assert snapshot.scan(NODES) == ()
    assert snapshot.get(NODES, "n") is None
    for ask in (lambda: snapshot.get(EVENTS, "e", "shop"), lambda: snapshot.scan(EVENTS)):
        with pytest.raises(IncompleteSnapshot, match="simkit dump events"):
            ask()
    assert MemorySnapshot([config("a")]).captured() == {MAPS}
    with pytest.raises(IncompleteSnapshot):
        MemorySnapshot([config("a")], captured=["nodes"]).scan(MAPS)


def test_everything_can_be_captured() -> None:
    """``*`` stands for all resources of the release: for clusters made by hand."""
    snapshot = MemorySnapshot([], captured=["*"])
    assert {MAPS, NODES, EVENTS, GROUP_EVENTS} < set(snapshot.captured())
    assert snapshot.scan(GROUP_EVENTS) == ()


def test_events_are_kept_once_and_seen_twice() -> None:
    """Whichever group an event came from, both groups show it in their own words."""
    meta = {"name": "e", "namespace": "shop"}
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": meta,
        "note": "hello",
        "regarding": {"kind": "Pod", "name": "p"},
        "reportingController": "c",
        "deprecatedCount": 3,
        "type": "Normal",
    }
    snapshot = MemorySnapshot([event])
    assert set(snapshot.captured()) == {EVENTS, GROUP_EVENTS}
    assert snapshot.get(EVENTS, "e", "shop") == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": meta,
        "message": "hello",
        "involvedObject": {"kind": "Pod", "name": "p"},
        "reportingComponent": "c",
        "count": 3,
        "type": "Normal",
    }
    assert snapshot.get(GROUP_EVENTS, "e", "shop") == event
    assert snapshot.scan(GROUP_EVENTS, "shop") == (event,)
    assert [key for key, _ in snapshot.items()] == [Key(EVENTS, "shop", "e")]


def definition(*versions: str) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "mice.zoo.example"},
        "spec": {
            "group": "zoo.example",
            "scope": "Cluster",
            "names": {"plural": "mice", "kind": "Mouse", "shortNames": ["mo"]},
            "versions": [{"name": name, "served": True, "storage": name == versions[0]} for name in versions],
        },
    }


def test_objects_are_answered_in_the_preferred_version() -> None:
    """The object itself stays as it came."""
    mice = GroupResource("zoo.example", "mice")
    mouse = {"apiVersion": "zoo.example/v1beta1", "kind": "Mouse", "metadata": {"name": "m"}}
    snapshot = MemorySnapshot([mouse, definition("v1beta1", "v1")], captured=["mo", "crd"])
    assert snapshot.get(mice, "m") == {**mouse, "apiVersion": "zoo.example/v1"}
    assert mouse["apiVersion"] == "zoo.example/v1beta1"


def test_definitions_that_make_no_sense_are_passed_over() -> None:
    """A definition is an object like any other, whatever is wrong in it."""
    odd: list[dict[str, Any]] = [
        {},
        {"names": {}},
        {"names": {"plural": 3, "kind": "X"}, "versions": 7},
        {"names": {"kind": "X"}, "group": "g"},
    ]
    for spec in odd:
        broken = {**definition(), "spec": spec}
        assert len(MemorySnapshot([broken])) == 1


def test_objects_that_cannot_be_placed_are_refused() -> None:
    """Whoever makes a snapshot of plain objects learns what is missing."""
    with pytest.raises(SimkitError, match="apiVersion and kind"):
        MemorySnapshot([{"kind": "Pod"}])
    with pytest.raises(SimkitError, match=r"a Pod needs metadata\.name"):
        MemorySnapshot([{"apiVersion": "v1", "kind": "Pod", "metadata": {}}])


def test_namespaces_follow_the_scope_of_the_kind() -> None:
    """A namespaced object without a namespace is in default, a cluster-scoped one in none."""
    bare: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "x"}}
    snapshot = MemorySnapshot([bare, node])
    assert snapshot.get(MAPS, "a", "default") == {**bare, "metadata": {"name": "a", "namespace": "default"}}
    assert snapshot.get(NODES, "n") == {**node, "metadata": {"name": "n"}}
    assert repr(snapshot) == "<MemorySnapshot of 1.30: 2 objects of 2 resources>"


def test_versions_that_nothing_converts_stay_as_they_are() -> None:
    """A wrong label on the right fields would be worse than an old version."""
    claim: dict[str, Any] = {"apiVersion": "resource.k8s.io/v1alpha1", "kind": "ResourceClaim"}
    claim |= {"metadata": {"name": "c", "namespace": "shop"}, "spec": {"resourceClassName": "gpu"}}
    snapshot = MemorySnapshot([claim])
    assert snapshot.get(GroupResource("resource.k8s.io", "resourceclaims"), "c", "shop") == claim


def test_versions_that_are_gone_are_read_as_what_replaced_them() -> None:
    """Also where the kind moved to another group."""
    ingress: dict[str, Any] = {"apiVersion": "extensions/v1beta1", "kind": "Ingress"}
    ingress |= {
        "metadata": {"name": "i", "namespace": "shop"},
        "spec": {"backend": {"serviceName": "web", "servicePort": 80}},
    }
    snapshot = MemorySnapshot([ingress])
    found = snapshot.get(GroupResource("networking.k8s.io", "ingresses"), "i", "shop")
    assert found is not None
    assert found["apiVersion"] == "networking.k8s.io/v1"
    assert found["spec"] == {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}


def test_the_subresources_of_custom_resources_are_known() -> None:
    """As their definition has them, although no rule names them."""
    crd = definition("v1")
    crd["spec"]["versions"][0]["subresources"] = {"status": {}}
    objects = [crd, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}]
    cluster = simkit.load(objects, captured=["*"])
    assert list(cluster.who_can("update", "mice/status")["subject"]) == ["group:system:masters"]
    with pytest.raises(simkit.SimkitError, match="have no subresource 'scale'"):
        cluster.who_can("update", "mice/scale")


@pytest.mark.parametrize(
    "spec", [5, {"names": 5}, {"group": "g.example", "names": {"plural": "a", "kind": "A"}, "versions": 5}]
)
def test_a_wrong_definition_defines_nothing(spec: Any) -> None:
    """No server takes it."""
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}}
    assert MemorySnapshot([{**crd, "spec": spec}]).index.catalogue.resources("g.example") == []
