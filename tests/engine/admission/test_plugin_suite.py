"""The promises of admission plugins, kept by each of them."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

import pytest

from simkit.cluster.plugins import PLUGINS
from simkit.engine.admission.always import AlwaysDeny
from simkit.engine.admission.chain import Plugin
from simkit.engine.seams import Mutator, Operation, Review, Validator
from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity, administrator
from simkit.meta.names import GroupResource, GroupVersionKind
from tests.engine.admission.conftest import Making
from tests.engine.admission.objects import obj, pod

OPERATIONS: Final[tuple[Operation, ...]] = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_ELSEWHERE: Final = {"ImagePolicyWebhook", "EventRateLimit"}
"""Plugins that cannot be on without a configuration file; their own tests have one."""
_ADDITIONS: Final = {
    "PodSecurityPolicy": "1.24",
    "SecurityContextDeny": "1.29",
    "MutatingAdmissionPolicy": "1.36",
    "PodTopologyLabels": "1.36",
    "NodeDeclaredFeatureValidator": "1.36",
    "PodResizeValidator": "1.36",
    "PodGroupProtection": "1.36",
    "PodGroupWorkloadExists": "1.36",
}
"""Plugins that 1.30 does not have, with a release that does."""


WRITTEN: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("pods", pod()),
    ("services", obj("v1", "Service", "s", spec={"ports": [{"port": 80}]})),
    ("configmaps", obj("v1", "ConfigMap", "c", data={"a": "b"})),
    ("persistentvolumeclaims", obj("v1", "PersistentVolumeClaim", "v", spec={"resources": {}})),
    ("nodes", obj("v1", "Node", "n")),
    ("namespaces", obj("v1", "Namespace", "default")),
)
IDENTITIES: Final = (administrator(), Identity("system:node:n", ("system:nodes",)))


def review_of(identity: Identity, operation: Operation, resource: str, written: dict[str, Any]) -> Review:
    """One write, as the plugins see it."""
    namespace = "" if resource in ("nodes", "namespaces") else "default"
    stored = {**written, "metadata": {**written["metadata"], **({"namespace": namespace} if namespace else {})}}
    return Review(
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


def reviews() -> list[Review]:
    """A write of each operation on several resources, by an administrator and by a node."""
    return [
        review_of(identity, operation, resource, written)
        for identity in IDENTITIES
        for resource, written in WRITTEN
        for operation in OPERATIONS[:3]
    ]


@pytest.fixture(params=[name for name in PLUGINS if name not in _ELSEWHERE])
def plugin(request: pytest.FixtureRequest, making: Making) -> Plugin:
    """Each plugin of a cluster that has it on."""
    more = {"release": _ADDITIONS[request.param]} if request.param in _ADDITIONS else {}
    if request.param == "AlwaysDeny":  # lets nothing be created, not even what the cluster needs
        return AlwaysDeny()
    cluster = making(request.param, **more)
    found: Plugin = next(each for each in cluster.engine.admission.plugins if each.name == request.param)
    return found


def asked(plugin: Plugin) -> list[Review]:
    """The reviews that the chain would show to a plugin."""
    return [
        review
        for review in reviews()
        if plugin.handles(review.operation) and (plugin.resources is None or review.resource in plugin.resources)
    ]


def test_is_declared(plugin: Plugin) -> None:
    """A plugin mutates or validates, always handles the same operations, and says whether it leaves the process."""
    assert isinstance(plugin, (Mutator, Validator))
    assert [plugin.handles(each) for each in OPERATIONS] == [plugin.handles(each) for each in OPERATIONS]
    assert plugin.leaves_process is False


def test_never_edits(plugin: Plugin) -> None:
    """The objects of a review are as before, whatever the plugin makes of them or raises."""
    for review in asked(plugin):
        before = deepcopy((review.object, review.old))
        for ask in ("mutate", "validate"):
            if hasattr(plugin, ask):
                with suppress(StatusError):
                    getattr(plugin, ask)(review)
        assert (review.object, review.old) == before


def test_mutates_once(plugin: Plugin) -> None:
    """Mutating a mutated object again changes nothing more, since a plugin may be asked again after webhooks."""
    if not isinstance(plugin, Mutator):
        return
    for review in asked(plugin):
        if review.object is None:
            continue
        with suppress(StatusError):
            once = plugin.mutate(review)
            assert plugin.mutate(replace(review, object=once)) == once
