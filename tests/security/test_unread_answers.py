"""Clients that ask for much and read nothing: what each of them costs has a bound, and ends."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.engine.http.watch_server import CHUNK, pieces
from simkit.engine.pipeline.verbs.watch import ROOM
from simkit.meta.message import Request

MAPS = "/api/v1/namespaces/default/configmaps"
LARGE = 200_000


def config_map(name: str, size: int) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "y" * size}}


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A cluster in which ten large objects were written, and then many small ones."""
    made = simkit.Cluster(seed=1)
    for number in range(10):
        made.create(config_map(f"large{number}", LARGE))
    for number in range(600):
        made.create(config_map(f"small{number}", 1))
    return made


def watched(cluster: simkit.Cluster, begins: str) -> Any:
    """A watch that begins with what is there, or with what has changed since the first of the objects."""
    first = cluster.get("configmap", "large0")["metadata"]["resourceVersion"]
    query = f"&resourceVersion={int(first) - 1}" if begins == "then" else ""
    return cluster.perform(Request.of("GET", f"{MAPS}?watch=1{query}")).stream


@pytest.mark.parametrize("begins", ["now", "then"])
def test_a_watch_takes_little_at_once(cluster: simkit.Cluster, begins: str) -> None:
    """Wherever it begins, no more frames are made for a client than some kilobytes beside one object."""
    stream, sizes = watched(cluster, begins), list[int]()
    while frames := stream.poll():
        sizes.append(sum(map(len, frames)))
    assert max(sizes) < ROOM + LARGE + 2000
    assert sum(sizes) > 10 * LARGE
    assert len(sizes) < 30


def test_watches_share_the_frames_of_large_objects(cluster: simkit.Cluster) -> None:
    """A thousand watches hold one copy."""
    (first,), *others = [watched(cluster, "then").poll() for _ in range(3)]
    assert len(first) > LARGE
    assert all(frame is first for (frame,) in others)


def test_large_frames_are_sent_as_the_client_reads() -> None:
    """No more of one is handed to the connection than of many small ones."""
    frames = [b"a" * 10, b"b" * (3 * CHUNK + 5), b"c"]
    assert max(map(len, pieces(frames))) == CHUNK
    assert b"".join(pieces(frames)) == b"".join(frames)
