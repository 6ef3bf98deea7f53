"""Garbage collection: what nobody owns any more goes, in the order that was asked for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simkit
from simkit.cluster.options import Options
from simkit.engine.controllers.garbage_collector import GarbageCollector
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request, Response
from simkit.schema.catalogue import Catalogue
from simkit.snapshot.memory import MemorySnapshot
from tests.engine.controllers.worlds import names, obj, patch


def config(cluster: simkit.Cluster, name: str, *owners: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """A config map; gives back how it is named as an owner."""
    made = cluster.create(obj("v1", "ConfigMap", name, meta={"ownerReferences": list(owners), **meta}))
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": made["metadata"]["uid"]}


def delete(cluster: simkit.Cluster, name: str, policy: str) -> None:
    path = f"/api/v1/namespaces/default/configmaps/{name}?propagationPolicy={policy}"
    assert cluster.perform(Request.of("DELETE", path)).succeeded


def left(cluster: simkit.Cluster) -> list[str]:
    return [name for name in names(cluster, "cm") if name != "kube-root-ca.crt"]


def test_dependents_follow_their_owner(cluster: simkit.Cluster) -> None:
    """In the background, through all generations."""
    child = config(cluster, "b", config(cluster, "a"))
    config(cluster, "c", child)
    delete(cluster, "a", "Background")
    assert left(cluster) == ["b", "c"]
    cluster.settle()
    assert left(cluster) == []


def test_one_owner_left_is_enough(cluster: simkit.Cluster) -> None:
    """The absent owner is forgotten, the dependent stays until the other one goes."""
    first, second = config(cluster, "a"), config(cluster, "b")
    config(cluster, "c", first, second)
    delete(cluster, "a", "Background")
    cluster.settle()
    assert cluster.get("cm", "c")["metadata"]["ownerReferences"] == [second]
    delete(cluster, "b", "Background")
    cluster.settle()
    assert left(cluster) == []


def test_events_stay_when_their_owners_go(cluster: simkit.Cluster) -> None:
    """The collector ignores Events: they end by themselves after an hour."""
    owner = config(cluster, "a")
    about = {"kind": "ConfigMap", "namespace": "default", "name": "a"}
    event = obj("v1", "Event", "a.1", meta={"ownerReferences": [owner]}) | {"involvedObject": about}
    cluster.create(event)
    delete(cluster, "a", "Background")
    cluster.settle()
    assert "a.1" in names(cluster, "events")


def test_an_owner_of_another_uid_is_no_owner(cluster: simkit.Cluster) -> None:
    """A name alone does not count."""
    config(cluster, "b", {**config(cluster, "a"), "uid": "another"})
    cluster.settle()
    assert left(cluster) == ["a"]


def test_foreground_waits_for_blocking_dependents(cluster: simkit.Cluster) -> None:
    """The owner stays until those that hold it back are gone; others do not hold it."""
    owner = config(cluster, "a")
    config(cluster, "b", {**owner, "blockOwnerDeletion": True}, finalizers=["example.com/hold"])
    config(cluster, "c", owner, finalizers=["example.com/hold"])
    delete(cluster, "a", "Foreground")
    cluster.settle()
    assert left(cluster) == ["a", "b", "c"]
    assert cluster.get("cm", "b")["metadata"]["deletionTimestamp"]
    patch(cluster, "/api/v1/namespaces/default/configmaps/b", {"metadata": {"finalizers": None}})
    cluster.settle()
    assert left(cluster) == ["c"]


def test_orphans_lose_their_owner_and_stay(cluster: simkit.Cluster) -> None:
    """The owner goes once all ties are cut."""
    owner = config(cluster, "a")
    config(cluster, "b", owner)
    delete(cluster, "a", "Orphan")
    cluster.settle()
    assert left(cluster) == ["b"]
    assert "ownerReferences" not in cluster.get("cm", "b")["metadata"]


def test_a_circle_does_not_hold_itself(cluster: simkit.Cluster) -> None:
    """Two that wait for each other are both removed."""
    first = config(cluster, "a")
    second = config(cluster, "b", {**first, "blockOwnerDeletion": True})
    patch(
        cluster,
        "/api/v1/namespaces/default/configmaps/a",
        {"metadata": {"ownerReferences": [{**second, "blockOwnerDeletion": True}]}},
    )
    cluster.settle()
    delete(cluster, "a", "Foreground")
    cluster.settle()
    assert left(cluster) == []


def test_owners_that_nobody_knows_are_taken_to_exist(cluster: simkit.Cluster) -> None:
    """An owner of a kind that is not served may be there all the same."""
    config(cluster, "b", {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": "1"})
    cluster.settle()
    assert left(cluster) == ["b"]


def test_owners_that_a_dump_does_not_hold_are_taken_to_exist() -> None:
    """Over a dump of config maps alone nothing is said of secrets."""
    owner = {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "1"}
    owned = obj("v1", "ConfigMap", "owned", meta={"namespace": "default", "ownerReferences": [owner], "uid": "2"})
    plain = obj("v1", "ConfigMap", "plain", meta={"namespace": "default", "uid": "3"})
    namespace = obj("v1", "Namespace", "default", spec={"finalizers": ["kubernetes"]})
    cluster = simkit.load([owned, plain, namespace])
    patch(cluster, "/api/v1/namespaces/default/configmaps/owned", {"metadata": {"labels": {"a": "b"}}})
    cluster.settle()
    assert names(cluster, "cm") == ["owned", "plain"]


@pytest.mark.slow
@settings(max_examples=20)
@given(st.data())
def test_the_objects_left_are_those_that_can_be_reached(data: st.DataObject) -> None:
    """After any deletions just those objects are left that have no owner, or an owner that is left."""
    cluster = simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock()))
    count = data.draw(st.integers(2, 7))
    made: list[dict[str, Any]] = []
    owners: dict[str, list[str]] = {}
    for number in range(count):
        chosen = data.draw(st.lists(st.integers(0, number - 1), unique=True, max_size=2)) if number else []
        owners[str(number)] = [str(each) for each in chosen]
        made.append(config(cluster, str(number), *(made[each] for each in chosen)))
    gone = {str(each) for each in data.draw(st.sets(st.integers(0, count - 1), max_size=3))}
    for name in gone:
        delete(cluster, name, data.draw(st.sampled_from(["Background", "Foreground"])))
    cluster.settle()
    alive: set[str] = set()
    for number in range(count):
        name = str(number)
        if name not in gone and (not owners[name] or alive & set(owners[name])):
            alive.add(name)
    assert set(left(cluster)) == alive


def test_a_fork_goes_on_where_its_origin_was(cluster: simkit.Cluster) -> None:
    """A fork knows who owns what, and what it removes stays in its origin."""
    config(cluster, "b", config(cluster, "a"))
    cluster.settle()
    fork = cluster.fork()
    delete(fork, "a", "Background")
    fork.settle()
    assert (left(fork), left(cluster)) == ([], ["a", "b"])


def test_a_request_that_fails_is_repeated_with_back_off() -> None:
    """The delay doubles with each failure, and another object is deleted in the meantime."""
    clock = SimulatedClock()
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "1"}
    orphans = [obj("v1", "ConfigMap", name, meta={"uid": name, "ownerReferences": [owner]}) for name in ("bad", "good")]
    catalogue = Catalogue.for_release("1.30")
    collector = GarbageCollector(lambda: catalogue, clock)
    asked: list[str] = []

    class Refusing:
        """A client that is refused for one of the objects."""

        def perform(self, request: Request) -> Response:
            asked.append(request.path.rsplit("/", 1)[1])
            return Response(500 if asked[-1] == "bad" else 200)

    everything = [resource.storage for resource in catalogue.stored()]
    snapshot = MemorySnapshot(orphans, release="1.30", captured=everything)
    collector.sync(Refusing(), snapshot)
    assert asked == ["bad", "good"]
    delays = []
    for _ in range(3):
        assert collector.next_time is not None
        delays.append(collector.next_time - clock.now())
        clock.advance(delays[-1])
        collector.sync(Refusing(), snapshot, [])
    assert delays == [1, 2, 4]
    assert asked == ["bad", "good", "bad", "bad", "bad"]
