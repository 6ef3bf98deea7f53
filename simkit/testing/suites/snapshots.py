"""The suite of every snapshot: subclass SnapshotSuite, say how a snapshot is made, and pytest runs it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.seams.snapshot import Snapshot

MAPS, NODES = GroupResource("", "configmaps"), GroupResource("", "nodes")
PODS, SECRETS = GroupResource("", "pods"), GroupResource("", "secrets")
NAMESPACED = (("shop", "web"), ("shop", "db"), ("shop-a", "db"), ("bank", "web"))
CAPTURED = (MAPS, NODES, PODS)


def config(namespace: str, name: str) -> Object:
    """A config map."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}


def node(name: str) -> Object:
    """A node, which belongs to no namespace."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


OBJECTS: Sequence[Object] = (*(config(*names) for names in NAMESPACED), node("b"), node("a"))


def names(objects: Collection[Object]) -> list[tuple[str, str]]:
    """Namespace and name of each object, in their order."""
    return [(obj["metadata"].get("namespace", ""), obj["metadata"]["name"]) for obj in objects]


class SnapshotSuite:
    """The promises of the Snapshot protocol, one test each."""

    def make(self, objects: Sequence[Object], captured: Collection[GroupResource]) -> Snapshot:
        """A snapshot at release 1.30 of just these objects, which are all that exist of the captured resources."""
        raise NotImplementedError

    @pytest.fixture
    def snapshot(self) -> Snapshot:
        return self.make(OBJECTS, CAPTURED)

    def test_names_its_release(self, snapshot: Snapshot) -> None:
        """The release is the one whose preferred versions the objects have."""
        assert snapshot.release == "1.30"

    def test_get_gives_one_object(self, snapshot: Snapshot) -> None:
        """An object is found by resource, name and namespace; an object without a namespace by the empty one."""
        found = snapshot.get(MAPS, "web", "bank")
        assert found is not None
        assert names([found]) == [("bank", "web")]
        found = snapshot.get(NODES, "a")
        assert found is not None
        assert names([found]) == [("", "a")]

    def test_get_gives_none_for_what_does_not_exist(self, snapshot: Snapshot) -> None:
        """Another name, another namespace and a captured resource without objects give None."""
        assert snapshot.get(MAPS, "cache", "shop") is None
        assert snapshot.get(MAPS, "db", "bank") is None
        assert snapshot.get(PODS, "web", "shop") is None

    def test_scan_orders_by_namespace_and_name(self, snapshot: Snapshot) -> None:
        """All objects come by namespace, then by name, each once."""
        assert names(list(snapshot.scan(MAPS))) == sorted(NAMESPACED)
        assert names(list(snapshot.scan(NODES))) == [("", "a"), ("", "b")]

    def test_scan_of_one_namespace(self, snapshot: Snapshot) -> None:
        """A namespace is matched as a whole: one whose name only begins alike is another one."""
        assert names(list(snapshot.scan(MAPS, "shop"))) == [("shop", "db"), ("shop", "web")]
        assert names(list(snapshot.scan(MAPS, "nowhere"))) == []

    def test_scan_of_nothing_is_empty(self, snapshot: Snapshot) -> None:
        """A captured resource without objects has an empty scan."""
        assert list(snapshot.scan(PODS)) == []

    def test_scans_repeat(self, snapshot: Snapshot) -> None:
        """Reading does not use a snapshot up: a second scan gives the same objects."""
        assert list(snapshot.scan(MAPS)) == list(snapshot.scan(MAPS))

    def test_captured_holds_empty_resources_too(self, snapshot: Snapshot) -> None:
        """A resource of which all objects are known is captured, also where there are none."""
        assert set(CAPTURED) <= set(snapshot.captured())

    def test_a_resource_that_was_not_captured_is_no_empty_answer(self, snapshot: Snapshot) -> None:
        """Questions about another resource raise IncompleteSnapshot instead of answering that there is nothing."""
        assert SECRETS not in snapshot.captured()
        with pytest.raises(IncompleteSnapshot):
            snapshot.get(SECRETS, "token", "shop")
        with pytest.raises(IncompleteSnapshot):
            list(snapshot.scan(SECRETS))
