"""What analyses keep of a snapshot."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import simkit
from simkit import analysis
from simkit.analysis.escalation import graph_of
from simkit.analysis.memo import ATTRIBUTE, SnapshotMemo


def test_a_snapshot_and_all_that_was_derived_from_it_are_released() -> None:
    """Graphs and indexes refer to their snapshot; none of them outlives the last user of it."""
    cluster = simkit.demo()
    snapshot = cluster.snapshot()
    analysis.causes(snapshot)
    graph = weakref.ref(graph_of(snapshot))
    alive = weakref.ref(snapshot)
    assert vars(snapshot)[ATTRIBUTE]
    del cluster, snapshot
    gc.collect()
    assert alive() is None
    assert graph() is None


def test_a_copy_starts_with_nothing_derived() -> None:
    """Another process, or a copy that may be changed, does not get the values of the original."""
    memo: SnapshotMemo[list[int]] = SnapshotMemo()
    snapshot = simkit.demo().snapshot()
    assert memo.of(snapshot, lambda _: [1]) is memo.known(snapshot)
    assert memo.known(copy.copy(snapshot)) is not None  # shares all attributes, as it shares the objects
    assert not pickle.loads(pickle.dumps(vars(snapshot)[ATTRIBUTE]))
    assert not copy.deepcopy(vars(snapshot)[ATTRIBUTE])
