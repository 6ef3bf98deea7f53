"""After writes the access index of a cluster is updated, and answers as one that is made anew."""

from __future__ import annotations

import random
from typing import Any

import pytest

import simkit
from simkit.analysis.access.who_can import who_can
from simkit.analysis.rbac.index import index_of
from simkit.logic.rbac.index import AccessIndex
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import binding, namespace, role, rule

pytestmark = pytest.mark.slow

PEOPLE = ("user:ann", "user:bob", "group:devs", "sa:dev/app")
LABEL = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
QUESTIONS = (("get", "secrets"), ("list", "pods"), ("escalate", "roles"), ("create", "deployments"))


def _change(cluster: simkit.Cluster, name_source: random.Random) -> None:
    """One write at random."""
    name, place = f"r{name_source.randrange(4)}", name_source.choice(("", "dev"))
    choice = name_source.randrange(5)
    if choice == 0:
        verbs, what = name_source.choice(("get", "get,list", "*")), name_source.choice(("secrets", "pods", "*"))
        cluster.apply(role(name, rule(verbs, what), namespace=place, labels=None if place else LABEL))
    elif choice == 1:
        cluster.apply(binding(f"b{name_source.randrange(9)}-{name}", name, name_source.choice(PEOPLE), namespace=place))
    elif choice == 2:
        cluster.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "c-", "namespace": "dev"}}
        )
    else:
        listed = cluster.list("rolebindings" if place else "clusterrolebindings", place or None)
        mine = [obj["metadata"]["name"] for obj in listed if obj["metadata"]["name"].startswith("b")]
        if mine:
            cluster.delete("rolebinding" if place else "clusterrolebinding", name_source.choice(mine), place)


def _same(cluster: simkit.Cluster) -> None:
    snapshot: Any = cluster.snapshot()
    resources = list(snapshot.captured())
    anew = MemorySnapshot([obj for each in resources for obj in snapshot.scan(each)], captured=resources)
    for verb, word in QUESTIONS:
        assert who_can(snapshot, verb, word).values.tolist() == who_can(anew, verb, word).values.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_it_answers_as_one_made_anew(seed: int) -> None:
    """Through writes, questions that are left out, forks of forks and writes on both sides."""
    name_source, cluster = random.Random(seed), simkit.Cluster(seed=seed)
    cluster.apply(namespace("dev"))
    cluster.apply(role("r0", rule("get", "secrets")))
    clusters = [cluster]
    for _ in range(40):
        chosen = name_source.choice(clusters)
        _change(chosen, name_source)
        chosen.settle()
        if name_source.random() < 0.6:
            _same(chosen)
        if name_source.random() < 0.1:
            clusters.append(chosen.fork())
    for each in clusters:
        _same(each)


def test_an_index_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first question no write, fork or what-if makes a whole index again."""
    made: list[object] = []
    cluster = simkit.Cluster(seed=1)
    whole = AccessIndex.of

    def counted(snapshot: Snapshot) -> AccessIndex:
        made.append(snapshot)
        return whole(snapshot)

    monkeypatch.setattr(AccessIndex, "of", counted)
    cluster.who_can("get", "secrets")
    assert len(made) == 1
    cluster.apply(binding("ann", "view", "user:ann"))
    cluster.snapshot()
    cluster.apply(binding("bob", "edit", "user:bob"))
    assert "user:bob" in set(cluster.who_can("get", "secrets")["subject"])
    with cluster.what_if() as trial:
        trial.delete("clusterrolebinding", "bob")
        assert set(trial.compare()["change"]) == {"lost"}
    assert len(made) == 1


def test_a_store_that_forgot_is_read_anew() -> None:
    """If the changes since the last question are gone, the index is rebuilt from the stored objects."""
    cluster = simkit.Cluster(seed=1)
    cluster.who_can("get", "secrets")
    cluster.apply(binding("ann", "edit", "user:ann"))
    store = cluster.engine.store
    store.compact(through=store.revision)
    _same(cluster)
    assert index_of(cluster.snapshot()) is index_of(cluster.snapshot())
