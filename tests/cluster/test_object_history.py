"""Earlier states of a cluster, and the writers of its changes."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.analysis.access.compare import compare
from simkit.cluster.object_history import authors
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from tests.analysis.worlds import binding

CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "default"},
    "data": {"k": "v"},
}
CONFIGS = GroupResource("", "configmaps")
PATH = "/api/v1/namespaces/default/configmaps/a"


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster in which a config map was made, changed by two managers and removed."""
    made = simkit.Cluster(seed=1)
    made.create(CONFIG)
    patch = {"data": {"other": "1"}}
    kind = "application/merge-patch+json"
    assert made.perform(Request.of("PATCH", f"{PATH}?fieldManager=helper", patch, content_type=kind)).succeeded
    made.apply({**CONFIG, "data": {"k": "w", "other": "1"}})
    made.delete("cm", "a")
    return made


def test_history_tells_authors_and_fields(cluster: simkit.Cluster) -> None:
    """Each change names the managers who made it and what it changed; removals are there, later objects too."""
    told = cluster.history("cm", "a")
    assert [step.change for step in told] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert [step.authors for step in told] == [("simkit",), ("helper",), ("simkit",), ()]
    assert [str(field) for field in told[1].fields] == ["data.other: absent -> '1'"]
    assert [str(field) for field in told[2].fields] == ["data.k: 'v' -> 'w'"]
    assert "MODIFIED by helper" in repr(told)
    assert list(told.to_frame()["authors"]) == [step.authors for step in told]
    assert cluster.history(CONFIG)[1:3] == told[1:3]
    assert len(cluster.history("cm", "never")) == 0


def test_at_gives_back_each_state(cluster: simkit.Cluster) -> None:
    """At the revision of each change there is the object that the change left; afterwards there is none."""
    for step in cluster.history("cm", "a"):
        there = cluster.at(step.revision).get(CONFIGS, "a", "default")
        assert (None if there is None else there["data"]) == (None if step.change == "DELETED" else step.object["data"])


def test_the_past_is_compared() -> None:
    """Access of now against access of then tells who gained."""
    cluster = simkit.Cluster(seed=1)
    then = cluster.at(cluster.engine.store.revision)
    cluster.create(binding("eve", "view", "user:eve"))
    rows = compare(then, cluster.snapshot())
    assert set(rows["subject"]) == {"user:eve"}
    assert set(rows["change"]) == {"gained"}
    forked = cluster.fork()
    forked.delete("clusterrolebinding", "eve")
    assert [step.change for step in forked.history("clusterrolebinding", "eve")] == ["DELETED"]


@pytest.mark.parametrize("revision", [0, 10**9, "soon"])
def test_out_of_reach(cluster: simkit.Cluster, revision: int | str) -> None:
    """Revisions that are forgotten, have not come, or are none are refused with a sentence."""
    with pytest.raises(SimkitError, match="cannot be read at"):
        cluster.at(revision)


def test_authors_by_items_of_lists() -> None:
    """Items of lists are found by their keys and by their value; who only shares the object is no author."""
    keyed: dict[str, Any] = {"f:ports": {'k:{"port":80}': {".": {}, "f:name": {}}}}
    entries = [
        {"manager": "ann", "operation": "Apply", "time": "1", "fieldsV1": keyed},
        {"manager": "bob", "operation": "Apply", "time": "1", "fieldsV1": {"f:finalizers": {'v:"a"': {}}}},
    ]
    before = {"metadata": {"managedFields": entries}, "ports": [{"port": 80, "name": "x"}], "finalizers": ["a"]}
    assert authors(before, {**before, "ports": [{"port": 80, "name": "y"}]}) == ("ann",)
    assert authors({**before, "finalizers": []}, before) == ("bob",)
    assert authors(before, before) == ()
    assert authors(None, before) == ("ann", "bob")


def test_a_revision_that_cannot_be_read_is_an_error() -> None:
    """An empty cluster would answer every question with nobody."""
    with pytest.raises(SimkitError, match="a document that is not YAML"):
        simkit.load("{a: b: c")
    assert simkit.load("[]").list("pods") == []
