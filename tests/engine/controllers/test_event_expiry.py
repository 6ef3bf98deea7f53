"""Events vanish a while after they were last written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import StatusError

EVENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "web.1", "namespace": "default"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"},
    "reason": "Pulled",
    "message": "pulled",
    "type": "Normal",
}


def world(clock: SimulatedClock, **more: Any) -> Cluster:
    return Cluster(options=Options(seed=1, clock=clock, **more))


def names(cluster: Cluster) -> list[str]:
    cluster.settle()
    return [each["metadata"]["name"] for each in cluster.list("events")]


def test_an_event_goes_an_hour_after_its_last_write() -> None:
    clock = SimulatedClock()
    cluster = world(clock)
    cluster.create(EVENT)
    assert names(cluster) == ["web.1"]
    clock.advance(3000)
    cluster.apply({**EVENT, "count": 2})
    assert names(cluster) == ["web.1"]
    clock.advance(3000)
    assert names(cluster) == ["web.1"]
    clock.advance(601)
    assert names(cluster) == []
    with pytest.raises(StatusError):
        cluster.get("event", "web.1", "default")


def test_finalizers_do_not_hold_it_and_others_stay() -> None:
    clock = SimulatedClock()
    cluster = world(clock, event_ttl=60.0)
    cluster.create({**EVENT, "metadata": {**EVENT["metadata"], "finalizers": ["example.com/hold"]}})
    cluster.settle()
    clock.advance(30)
    cluster.create({**EVENT, "metadata": {"name": "web.2", "namespace": "default"}})
    assert names(cluster) == ["web.1", "web.2"]
    clock.advance(31)
    assert names(cluster) == ["web.2"]


def test_without_a_time_they_stay_for_good() -> None:
    clock = SimulatedClock()
    cluster = world(clock, event_ttl=0)
    cluster.create(EVENT)
    clock.advance(10**6)
    assert names(cluster) == ["web.1"]


def test_one_deleted_and_made_again_counts_anew() -> None:
    clock = SimulatedClock()
    cluster = world(clock, event_ttl=60.0)
    cluster.create(EVENT)
    cluster.settle()
    cluster.delete("event", "web.1", "default")
    clock.advance(50)
    cluster.create(EVENT)
    cluster.settle()
    clock.advance(50)
    assert names(cluster) == ["web.1"]


def test_a_fork_lets_go_of_what_its_origin_knows() -> None:
    clock = SimulatedClock()
    cluster = world(clock)
    cluster.create(EVENT)
    cluster.settle()
    fork = cluster.fork()
    assert isinstance(fork.clock, SimulatedClock)
    fork.clock.advance(3601)
    assert names(fork) == []
    assert len(cluster.list("events")) == 1


def test_events_of_a_dump_are_kept(tmp_path: Path) -> None:
    first = world(SimulatedClock())
    first.create(EVENT)
    first.save(tmp_path / "dump.yaml")
    clock = SimulatedClock()
    loaded = Cluster.load(tmp_path / "dump.yaml", options=Options(clock=clock))
    clock.advance(10**5)
    assert names(loaded) == ["web.1"]


def test_events_in_a_file_go_after_it_was_opened_again(tmp_path: Path) -> None:
    clock = SimulatedClock()
    storage = f"sqlite:{tmp_path / 'objects.db'}"
    first = world(clock, storage=storage)
    first.create(EVENT)
    first.close()
    again = world(clock, storage=storage)
    assert names(again) == ["web.1"]
    clock.advance(3601)
    assert names(again) == []
