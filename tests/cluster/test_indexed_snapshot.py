"""What controllers look up by values is what a pass over all objects finds, however much was written in between."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simkit.client.lister import Lister
from simkit.cluster.store_snapshot import Indexers, StoreSnapshot
from simkit.engine.storage.memory import MemoryStore
from simkit.meta.clock import SimulatedClock
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.seams.snapshot import Snapshot

PODS = GroupResource("", "pods")
CATALOGUE = Catalogue.for_release("1.30")
NAMESPACES, NODES, UIDS, VALUES = ("a", "a-b"), ("", "n1", "n2"), ("", "u1", "u2"), ("x", "y", 3)

writes = st.one_of(
    st.tuples(
        st.just("put"),
        st.sampled_from(NAMESPACES),
        st.sampled_from("pqr"),
        st.fixed_dictionaries(
            {
                "node": st.sampled_from(NODES),
                "uid": st.sampled_from(UIDS),
                "labels": st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from(VALUES)),
            }
        ),
    ),
    st.tuples(st.just("delete"), st.sampled_from(NAMESPACES), st.sampled_from("pqr"), st.none()),
    st.tuples(st.just("compact"), st.none(), st.none(), st.none()),
    st.tuples(st.just("look"), st.none(), st.none(), st.none()),
)


def _pod(namespace: str, name: str, has: dict[str, Any]) -> Object:
    meta: dict[str, Any] = {"namespace": namespace, "name": name, "labels": has["labels"]}
    if has["uid"]:
        meta["ownerReferences"] = [{"uid": "other"}, {"uid": has["uid"], "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": has["node"]}}


def _write(store: MemoryStore, what: str, namespace: Any, name: Any, has: Any) -> None:
    if what == "compact":
        store.compact(through=store.revision)
    elif what == "put":
        store.put(Key(PODS, namespace, name), _pod(namespace, name, has), expect=None)
    elif store.get(Key(PODS, namespace, name)) is not None:
        store.delete(Key(PODS, namespace, name), expect=None)


def _names(pods: Sequence[Object]) -> list[tuple[str, str]]:
    return [(namespace_of(pod), name_of(pod)) for pod in pods]


def _same_answers(snapshot: Snapshot, plain: Snapshot) -> None:
    lister, pods = Lister(snapshot), sorted(plain.scan(PODS), key=lambda pod: (namespace_of(pod), name_of(pod)))
    for node in NODES:
        assert _names(lister.pods_on(node)) == _names([pod for pod in pods if pod["spec"]["nodeName"] == node])
    for namespace in NAMESPACES:
        here = [pod for pod in pods if namespace_of(pod) == namespace]
        for uid in UIDS:
            wanted = [pod for pod in here if pod["metadata"].get("ownerReferences", [{}])[-1].get("uid", "") == uid]
            assert _names(lister.controlled(PODS, namespace, uid)) == _names(wanted)
        for labels in ({}, {"app": "x"}, {"app": "y", "tier": "x"}):
            wanted = [pod for pod in here if labels.items() <= pod["metadata"]["labels"].items()]
            assert _names(lister.labelled(PODS, namespace, labels)) == _names(wanted)


@given(st.lists(writes, max_size=30))
def test_what_is_looked_up_is_what_a_pass_over_all_pods_finds(history: list[tuple[Any, ...]]) -> None:
    store = MemoryStore(SimulatedClock())
    indexers = Indexers(store, lambda: CATALOGUE)
    for step in history:
        if step[0] != "look":
            _write(store, *step)
            continue
        snapshot = indexers.snapshot()
        plain = StoreSnapshot(store, CATALOGUE)
        store.put(Key(PODS, "a", "later"), _pod("a", "later", {"node": "n1", "uid": "u1", "labels": {}}), expect=None)
        _same_answers(snapshot, plain)
        _same_answers(plain, plain)


def test_a_later_snapshot_reads_only_what_was_written_since() -> None:
    """The cost of a look does not grow with the objects."""
    read: list[str] = []

    def by_name(obj: Object) -> Collection[str]:
        read.append(name_of(obj))
        return [name_of(obj)]

    store = MemoryStore(SimulatedClock())
    indexers = Indexers(store, lambda: CATALOGUE)
    for number in range(100):
        pod = _pod("a", f"p{number}", {"node": "", "uid": "", "labels": {}})
        store.put(Key(PODS, "a", f"p{number}"), pod, expect=None)
    assert indexers.snapshot().indexer(PODS, by_name).count("p99") == 1
    read.clear()
    store.put(Key(PODS, "a", "last"), _pod("a", "last", {"node": "", "uid": "", "labels": {}}), expect=None)
    assert indexers.snapshot().indexer(PODS, by_name).count("last") == 1
    assert read == ["last"]
