"""Resource versions from before a server was ready: lists at them are served, watches are not."""

from __future__ import annotations

import orjson

import simkit
from simkit.meta.message import Request

MAPS = "/api/v1/namespaces/default/configmaps"


def test_lists_at_early_versions_are_served() -> None:
    """The store remembers what the server itself wrote, so that a list at exactly an early version has its answer."""
    cluster = simkit.Cluster(seed=1)
    found = cluster.perform(Request.of("GET", f"{MAPS}?resourceVersion=5&resourceVersionMatch=Exact"))
    assert (found.status, found.object["items"], found.object["metadata"]["resourceVersion"]) == (200, [], "5")


def test_watches_start_where_the_cache_was_listed() -> None:
    """A watch from before that is too old, as on kube-apiserver; one from there on is served."""
    cluster = simkit.Cluster(seed=1)
    early = cluster.perform(Request.of("GET", f"{MAPS}?watch=1&resourceVersion=5")).stream
    assert early is not None
    assert orjson.loads(early.poll()[0])["object"]["code"] == 410
    start = cluster.perform(Request.of("GET", MAPS)).object["metadata"]["resourceVersion"]
    stream = cluster.perform(Request.of("GET", f"{MAPS}?watch=1&resourceVersion={start}")).stream
    assert stream is not None
    cluster.perform(Request.of("POST", MAPS, {"metadata": {"name": "a"}}))
    assert orjson.loads(b"".join(stream.poll()))["type"] == "ADDED"
    stream.close()
