"""Counts the pods that the controllers of a set of pods ask for.

Upstream: pkg/controller/disruption, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.engine.controllers.client_requests import scale_path
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, uid_of
from simkit.engine.controllers.resources import DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, GroupVersion, GroupVersionKind, Key
from simkit.meta.objects import Object, at, controller_of, name_of, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource

SCALED: Final = {
    "ReplicaSet": REPLICA_SETS,
    "ReplicationController": REPLICATION_CONTROLLERS,
    "StatefulSet": STATEFUL_SETS,
    "Deployment": DEPLOYMENTS,
}
"""The kinds whose size is known without asking for their Scale."""
Reference = Mapping[str, Any]


class ExpectedCountError(Exception):
    """The expected number of pods cannot be told; the text says why."""


class ExpectedPods:
    """Reads the scale of the controllers of pods, each once."""

    def __init__(self, catalogue: Callable[[], Catalogue]) -> None:
        self._catalogue = catalogue

    def count(self, client: Client, lister: Lister, pods: Sequence[Object]) -> tuple[int, bool]:
        """The number of pods that their controllers want together, and whether some pods have no controller.

        Raises ExpectedCountError for a controller that has no size.
        """
        sizes: dict[str, int] = {}
        asked: set[str] = set()
        unmanaged = False
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                unmanaged = True
            elif reference.get("uid", "") not in asked:
                asked.add(reference.get("uid", ""))
                uid, size = self._size(client, lister, pod, reference)
                sizes[uid] = size
        return sum(sizes.values()), unmanaged

    def _size(self, client: Client, lister: Lister, pod: Object, reference: Reference) -> tuple[str, int]:
        found = _known(lister, namespace_of(pod), reference)
        if found is not None:
            above = _known(lister, namespace_of(pod), controller_of(found)) or found
            return uid_of(above), at(above, "spec", "replicas") or 0
        scale = self._scale(client, namespace_of(pod), reference)
        if scale is None or uid_of(scale) != reference.get("uid"):
            raise ExpectedCountError(f'found no controllers for pod "{name_of(pod)}"')
        return uid_of(scale), at(scale, "spec", "replicas") or 0

    def _scale(self, client: Client, namespace: str, reference: Reference) -> Object | None:
        resource = self._resource(reference)
        if "scale" not in resource.subresources:
            raise ExpectedCountError(f"{resource.group_resource} does not implement the scale subresource")
        response = client.perform(Request.of("GET", scale_path(resource, namespace, reference.get("name") or "")))
        found: Object | None = response.object if response.succeeded else None
        return found

    def _resource(self, reference: Reference) -> Resource:
        version, kind = reference.get("apiVersion") or "", reference.get("kind") or ""
        resource = self._catalogue().kind(GroupVersionKind(*GroupVersion.parse(version), kind))
        if resource is None:
            raise ExpectedCountError(f'no matches for kind "{kind}" in version "{version}"')
        return resource


def _known(lister: Lister, namespace: str, reference: Reference | None) -> Object | None:
    resource: GroupResource | None = SCALED.get((reference or {}).get("kind", ""))
    if resource is None or reference is None:
        return None
    found = lister.get(Key(resource, namespace, reference.get("name") or ""))
    return found if found is not None and uid_of(found) == reference.get("uid") else None
