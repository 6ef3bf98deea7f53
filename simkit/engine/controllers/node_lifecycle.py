"""Taints nodes by their conditions, and marks the pods of unready nodes as not ready.

Upstream: pkg/controller/nodelifecycle, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from simkit.engine.controllers.client_requests import expect, keys_of, merge
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.event_recorder import EventRecorder
from simkit.engine.controllers.lister import Lister, is_terminating, uid_of
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import NODES, PODS
from simkit.engine.seams import Change
from simkit.logic.workloads.nodes import conditional_taints, is_conditional
from simkit.logic.workloads.status_conditions import find
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import label
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of, metadata

_OLD_LABELS: Final[Mapping[str, str]] = {label(name): label(name, "beta") for name in ("os", "arch")}
"""Labels that have another name from before, which is kept."""
_COMING_AND_GOING: Final = {
    "ADDED": ("RegisteredNode", "Registered Node {} in Controller"),
    "DELETED": ("RemovingNode", "Removing Node {} from Controller"),
}


class NodeLifecycleController(ResourceWatcher):
    """Reconciles a node when it changes.

    Notes
    -----
    There are no kubelets here: that nothing is heard of a node for a while is no reason to call it unreachable.
    """

    name = "node-lifecycle-controller"
    account = "node-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(NODES, PODS)
        self._clock = clock
        self._events = EventRecorder(clock, self.account)
        self._news: dict[Key, tuple[str, str, Object]] = {}
        """Nodes that have come or gone: reason and text of the event, and the node."""

    def resume_from(self, other: Any) -> None:
        self._news = dict(other._news)

    def concerns(self, change: Change) -> bool:
        return change.entry.key.resource == NODES

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, told = change.entry.key, _COMING_AND_GOING.get(change.type)
        if told is not None:
            self._news[key] = (*told, change.entry.object)
        return [key]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(NODES, lister.scan(NODES))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        node = lister.get(key)
        self._announce(client, key)
        if node is None or is_terminating(node):
            return
        self._label(client, node)
        self._taint(client, node)
        ready = find(at(node, "status", "conditions"), "Ready")
        if ready is not None and ready.get("status") != "True":
            self._unready_pods(client, lister, key.name)

    def _announce(self, client: Client, key: Key) -> None:
        if key not in self._news:
            return
        reason, text, node = self._news.pop(key)
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": key.name, "uid": uid_of(node)}}
        self._events.event(client, about, reason, f"Node {key.name} event: {text.format(key.name)}")

    def _label(self, client: Client, node: Object) -> None:
        present = labels_of(node)
        missing = {old: present[new] for new, old in _OLD_LABELS.items() if new in present}
        if not missing.items() <= present.items():
            expect(merge(client, NODES, node, {"metadata": {"labels": missing}}), 404, 409)

    def _taint(self, client: Client, node: Object) -> None:
        taints: list[Mapping[str, Any]] = list(at(node, "spec", "taints") or ())
        wanted = conditional_taints(node)
        kept = [each for each in taints if not is_conditional(each) or (each.get("key"), each.get("effect")) in wanted]
        present = {(each.get("key"), each.get("effect")) for each in kept}
        now = timestamp(self._clock.now())
        new = [{"key": key, "effect": effect, "timeAdded": now} for key, effect in sorted(wanted - present)]
        if new or len(kept) < len(taints):
            change = {"resourceVersion": metadata(node)["resourceVersion"]}
            expect(
                merge(client, NODES, node, {"metadata": change, "spec": {"taints": [*kept, *new] or None}}), 404, 409
            )

    def _unready_pods(self, client: Client, lister: Lister, node: str) -> None:
        now = timestamp(self._clock.now())
        for pod in lister.scan(PODS):
            conditions = at(pod, "status", "conditions") or ()
            ready = find(conditions, "Ready")
            if at(pod, "spec", "nodeName") != node or ready is None or ready.get("status") != "True":
                continue
            told = [
                {**each, "status": "False", "lastTransitionTime": now} if each is ready else each for each in conditions
            ]
            expect(merge(client, PODS, pod, {"status": {"conditions": told}}, "status"), 404, 409)
