"""The suite of every admission plugin: subclass AdmissionSuite, say how a plugin is made, and pytest runs it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

import pytest

from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity, administrator
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.schema.behaviour import default_behaviour
from simkit.seams import OPERATIONS, Mutator, Operation, Plugin, Review, Validator

_SHOWN: Final[tuple[Operation, ...]] = ("CREATE", "UPDATE", "DELETE")
IDENTITIES: Final = (administrator(), Identity("system:node:n", ("system:nodes",)))
_CONTAINER: Final = {"name": "main", "image": "registry.example/app:1"}
_WRITTEN: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("pods", {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [_CONTAINER]}}),
    ("services", {"kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}),
    ("configmaps", {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}),
    ("persistentvolumeclaims", {"kind": "PersistentVolumeClaim", "metadata": {"name": "v"}, "spec": {"resources": {}}}),
    ("nodes", {"kind": "Node", "metadata": {"name": "n"}}),
    ("namespaces", {"kind": "Namespace", "metadata": {"name": "default"}}),
)


def review_of(identity: Identity, operation: Operation, resource: str, written: dict[str, Any]) -> Review:
    """The review of one write of an object of the core group, in the namespace ``default`` unless it has none.

    Parameters
    ----------
    resource
        The plural.
    written
        The object with its kind and name; apiVersion and namespace are added.
    """
    namespace = "" if resource in ("nodes", "namespaces") else "default"
    placed = {**written["metadata"], **({"namespace": namespace} if namespace else {})}
    stored = {"apiVersion": "v1", **written, "metadata": placed}
    return Review(
        default_behaviour("1.30"),
        identity,
        operation,
        GroupResource("", resource),
        "v1",
        "",
        GroupVersionKind("", "v1", stored["kind"]),
        namespace,
        stored["metadata"]["name"],
        None if operation == "DELETE" else stored,
        None if operation == "CREATE" else stored,
    )


class AdmissionSuite:
    """The promises of the Plugin, Mutator and Validator protocols, one test each."""

    leaves_process = False
    """What the plugin has to declare."""

    def make(self) -> Plugin:
        """A plugin that nobody else uses."""
        raise NotImplementedError

    def reviews(self) -> Sequence[Review]:
        """The writes that the plugin is shown: each operation on several resources, by an administrator and a node."""
        return [
            review_of(identity, operation, resource, written)
            for identity in IDENTITIES
            for resource, written in _WRITTEN
            for operation in _SHOWN
        ]

    @pytest.fixture
    def plugin(self) -> Plugin:
        """The plugin under test."""
        return self.make()

    def asked(self, plugin: Plugin) -> list[Review]:
        """The reviews that the admission chain would show to a plugin."""
        return [
            review
            for review in self.reviews()
            if review.operation in plugin.operations
            and (plugin.resources is None or review.resource in plugin.resources)
        ]

    def test_is_declared(self, plugin: Plugin) -> None:
        """A plugin has a name, mutates or validates, and wants to see some of the operations."""
        assert plugin.name
        assert isinstance(plugin, (Mutator, Validator))
        assert plugin.operations <= OPERATIONS
        assert plugin.leaves_process is self.leaves_process

    def test_never_edits(self, plugin: Plugin) -> None:
        """The objects of a review are as before, whatever the plugin makes of them; it raises StatusErrors only."""
        for review in self.asked(plugin):
            before = deepcopy((review.object, review.old))
            for ask in ("mutate", "validate"):
                if hasattr(plugin, ask):
                    with suppress(StatusError):
                        getattr(plugin, ask)(review)
            assert (review.object, review.old) == before

    def test_mutates_once(self, plugin: Plugin) -> None:
        """Mutating a mutated object again changes nothing more, since a plugin may be asked again after webhooks."""
        if not isinstance(plugin, Mutator):
            return
        for review in self.asked(plugin):
            if review.object is None:
                continue
            with suppress(StatusError):
                once = plugin.mutate(review)
                assert plugin.mutate(replace(review, object=once)) == once
