"""Mirrors hand-written Endpoints of Services without a selector into EndpointSlices.

Upstream: pkg/controller/endpointslicemirroring, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any, Final

from simkit.engine.controllers.client_requests import keys_of, remove
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import ENDPOINTS, SERVICES, SLICES
from simkit.engine.controllers.slice_reconciler import PORT_FIELDS, Group, SliceReconciler, slices_of
from simkit.engine.seams import Change
from simkit.logic.workloads import backends as behind
from simkit.logic.workloads.pods import owner_reference
from simkit.meta.domain import API_DOMAIN, LAST_APPLIED, label
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, labels_of

MANAGER: Final = f"endpointslicemirroring-controller.{API_DOMAIN}"
_MOST: Final = 1000
_SKIP: Final = label("skip-mirror", "endpointslice")
_LEADER: Final = label("leader", "control-plane.alpha")
_NOT_COPIED: Final = (behind.CHANGED, LAST_APPLIED)


class EndpointSliceMirroringController(ResourceWatcher):
    """Mirrors the Endpoints of a Service without a selector, unless they are labelled to be skipped."""

    name = "endpointslice-mirroring-controller"
    account = "endpointslicemirroring-controller"

    def __init__(self) -> None:
        super().__init__(ENDPOINTS, SERVICES, SLICES)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        if key.resource != SLICES:
            return [Key(ENDPOINTS, key.namespace, key.name)]
        own = labels_of(obj).get(behind.MANAGED_BY) == MANAGER
        return [Key(ENDPOINTS, key.namespace, labels_of(obj).get(behind.SERVICE_NAME, ""))] if own else ()

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(ENDPOINTS, lister.scan(ENDPOINTS))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        endpoints, service = lister.get(key), lister.get(Key(SERVICES, key.namespace, key.name))
        present = slices_of(lister, key.namespace, key.name, MANAGER)
        if endpoints is None or is_terminating(endpoints) or not _is_mirrored(endpoints) or not _is_open(service):
            for each in present:
                remove(client, SLICES, each)
            return
        notes = annotations_of(endpoints)
        keeper = SliceReconciler(
            client,
            key.namespace,
            key.name,
            labels={**labels_of(endpoints), behind.SERVICE_NAME: key.name, behind.MANAGED_BY: MANAGER},
            annotations={name: value for name, value in notes.items() if name not in _NOT_COPIED},
            owner=owner_reference("v1", "Endpoints", endpoints),
            most=_MOST,
        )
        keeper.reconcile(_wanted(endpoints), present)


def _is_mirrored(endpoints: Object) -> bool:
    return labels_of(endpoints).get(_SKIP) != "true" and _LEADER not in annotations_of(endpoints)


def _is_open(service: Object | None) -> bool:
    return service is not None and not at(service, "spec", "selector")


def _wanted(endpoints: Object) -> dict[Group, list[dict[str, Any]]]:
    """The addresses of all subsets by family and ports."""
    groups: dict[Group, list[dict[str, Any]]] = {}
    for subset in endpoints.get("subsets") or ():
        ports = tuple(
            tuple((name, port.get(name, "")) for name in PORT_FIELDS if name in port or name == "name")
            for port in subset.get("ports") or ()
        )
        for field, ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(field) or ():
                family = f"IPv{ip_address(address['ip']).version}"
                groups.setdefault((family, ports), []).append(_endpoint(address, ready=ready))
    return groups


def _endpoint(address: Mapping[str, Any], *, ready: bool) -> dict[str, Any]:
    kept = {name: address[name] for name in ("hostname", "targetRef", "nodeName") if address.get(name)}
    return {"addresses": [address["ip"]], "conditions": {"ready": ready}, **kept}
