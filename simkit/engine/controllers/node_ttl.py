"""Annotates nodes with how long kubelets may cache secrets and config maps.

Upstream: pkg/controller/ttl, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from simkit.engine.controllers.client_requests import expect, keys_of, merge
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import NODES
from simkit.engine.seams import Change
from simkit.meta.domain import label
from simkit.meta.names import Key
from simkit.meta.objects import annotations_of

_TIME: Final = label("ttl", "node.alpha")
_STEPS: Final = ((100, 0), (500, 15), (1000, 30), (2000, 60))
_LONGEST: Final = 300
"""Up to how many nodes for how many seconds, and for how many beyond."""


class TTLController(ResourceWatcher):
    """Raises the TTL with the number of nodes."""

    name = account = "ttl-controller"

    def __init__(self) -> None:
        super().__init__(NODES)
        self._seconds = ""
        """The TTL that all nodes had when one came or went last."""

    def resume_from(self, other: Any) -> None:
        self._seconds = other._seconds

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        if change.type == "MODIFIED" or (seconds := _seconds(lister)) == self._seconds:
            return [change.entry.key]
        self._seconds = seconds
        return self.all_keys(lister)

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(NODES, lister.scan(NODES))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        node = lister.get(key)
        if node is None:
            return
        seconds = _seconds(lister)
        if annotations_of(node).get(_TIME) != seconds:
            expect(merge(client, NODES, node, {"metadata": {"annotations": {_TIME: seconds}}}), 404, 409)


def _seconds(lister: Lister) -> str:
    """The TTL for the number of nodes that there are."""
    count = len(lister.scan(NODES))
    return str(next((seconds for most, seconds in _STEPS if count <= most), _LONGEST))
