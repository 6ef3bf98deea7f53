"""Keeps the EndpointSlices of Services that have a selector.

Upstream: pkg/controller/endpointslice, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from simkit.engine.controllers.client_requests import keys_of
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.endpoints import pods_of, services_leading_to, services_of
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import NODES, PODS, SERVICES, SLICES
from simkit.engine.controllers.slice_reconciler import Group, SliceReconciler, slices_of
from simkit.engine.seams import Change
from simkit.logic.workloads import backends as behind
from simkit.logic.workloads.backends import Backend
from simkit.logic.workloads.pods import owner_reference
from simkit.meta.domain import API_DOMAIN
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of, name_of

MANAGER: Final = f"endpointslice-controller.{API_DOMAIN}"
_MOST: Final = 100


class EndpointSliceController(ResourceWatcher):
    """Keeps as few slices as possible, of at most 100 endpoints, and leaves unchanged slices alone."""

    name = account = "endpointslice-controller"

    def __init__(self) -> None:
        super().__init__(SERVICES, PODS, SLICES, NODES)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        if key.resource == NODES:
            return self._on_node(key.name, lister) if change.type == "ADDED" else ()
        if key.resource == SLICES:
            name = labels_of(obj).get(behind.SERVICE_NAME)
            own = labels_of(obj).get(behind.MANAGED_BY) == MANAGER
            return [Key(SERVICES, key.namespace, name)] if name and own else ()
        return services_of(change, lister)

    def _on_node(self, node: str, lister: Lister) -> Iterable[Key]:
        return [key for pod in lister.pods_on(node) for key in services_leading_to(pod, lister)]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(SERVICES, lister.scan(SERVICES))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        service = lister.get(key)
        if service is None or is_terminating(service) or not at(service, "spec", "selector"):
            return  # slices of a service that is gone go with it, as its dependents
        if at(service, "spec", "type") == "ExternalName":
            return
        keeper = SliceReconciler(
            client,
            key.namespace,
            key.name,
            labels={**behind.inherited(service), behind.SERVICE_NAME: key.name, behind.MANAGED_BY: MANAGER},
            annotations={behind.CHANGED: behind.triggered(service, [])},
            owner=owner_reference("v1", "Service", service),
            most=_MOST,
        )
        keeper.reconcile(self._wanted(lister, service), slices_of(lister, key.namespace, key.name, MANAGER))

    def _wanted(self, lister: Lister, service: Object) -> dict[Group, list[dict[str, Any]]]:
        """The endpoints by what slices have in common; a family without any has one empty group."""
        nodes = lister.once(NODES, lambda: {name_of(node): node for node in lister.scan(NODES)})
        wanted: dict[Group, list[dict[str, Any]]] = {}
        for family in behind.families(service):
            found = behind.backends(service, pods_of(service, lister), family)
            groups: dict[Group, list[dict[str, Any]]] = {}
            for each in found:
                node = at(each.pod, "spec", "nodeName")
                if not node or (node not in nodes and not each.publish_early):
                    continue
                groups.setdefault((family, each.ports), []).append(_endpoint(service, each, nodes.get(node)))
            wanted |= groups or {(family, ()): []}
        return wanted


def _endpoint(service: Object, each: Backend, node: Object | None) -> dict[str, Any]:
    conditions = {"ready": each.ready, "serving": each.serving, "terminating": each.going}
    made: dict[str, Any] = {"addresses": [each.address], "conditions": conditions}
    if behind.hostname(service, each.pod):
        made["hostname"] = behind.hostname(service, each.pod)
    made |= {"targetRef": each.target, "nodeName": each.pod["spec"]["nodeName"]}
    zone = labels_of(node).get(behind.ZONE) if node is not None else None
    return {**made, "zone": zone} if zone else made
