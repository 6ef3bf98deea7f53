"""Keeps the Endpoints of Services: ready and not ready addresses, grouped by ports.

Upstream: pkg/controller/endpoint, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from simkit.engine.controllers.client_requests import create, expect, keys_of, remove, replace
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import ENDPOINTS, PODS, SERVICES
from simkit.engine.controllers.selector_index import SelectorIndex
from simkit.engine.seams import Change
from simkit.logic.workloads import backends as behind
from simkit.logic.workloads.backends import Backend
from simkit.meta.labels import LabelSelector, of_object
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, name_of, namespace_of, with_metadata

_MOST: Final = 1000


class EndpointsController(ResourceWatcher):
    """Keeps one Endpoints object of the Service's name. Services without a selector are left alone."""

    name = "endpoints-controller"
    account = "endpoint-controller"

    def __init__(self) -> None:
        super().__init__(SERVICES, PODS, ENDPOINTS)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return services_of(change, lister)

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(SERVICES, lister.scan(SERVICES))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        service, present = lister.get(key), lister.get(Key(ENDPOINTS, key.namespace, key.name))
        if service is None:
            if present is not None:
                remove(client, ENDPOINTS, present)
            return
        if not at(service, "spec", "selector") or at(service, "spec", "type") == "ExternalName":
            return
        found = behind.backends(service, pods_of(service, lister), behind.families(service)[0])
        found = [each for each in found if not each.going or each.publish_early]
        subsets = _subsets(service, found[:_MOST])
        labels = behind.inherited(service)
        if present is None:
            self._create(client, service, labels, subsets, found)
        elif subsets != (present.get("subsets") or []) or labels != labels_of(present):
            notes = self._notes(service, found, annotations_of(present))
            wanted = {**with_metadata(present, labels=labels, annotations=notes), "subsets": subsets}
            expect(replace(client, ENDPOINTS, wanted), 404, 409)

    def _create(
        self, client: Client, service: Object, labels: dict[str, str], subsets: list[Any], found: Sequence[Backend]
    ) -> None:
        meta = {"name": name_of(service), "labels": labels, "annotations": self._notes(service, found, {})}
        made = {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": subsets}
        expect(create(client, ENDPOINTS, service["metadata"]["namespace"], made), 403, 404, 409)

    def _notes(self, service: Object, found: Sequence[Backend], present: Any) -> dict[str, str]:
        notes = {**present, behind.CHANGED: behind.triggered(service, [each.pod for each in found])}
        notes.pop(behind.OVER_CAPACITY, None)
        return {**notes, behind.OVER_CAPACITY: "truncated"} if len(found) > _MOST else notes


def services_of(change: Change, lister: Lister) -> Iterable[Key]:
    """The services that a change concerns: those that lead or led to a pod, or that an object is named after."""
    key, states = change.entry.key, [change.entry.object]
    if key.resource == SERVICES:
        return [key]
    if key.resource == ENDPOINTS:
        return [Key(SERVICES, key.namespace, key.name)]
    if change.previous is not None:
        states.append(change.previous.object)
    return [key for pod in states for key in services_leading_to(pod, lister)]


def services_leading_to(pod: Object, lister: Lister) -> list[Key]:
    """The services whose selectors match a pod."""
    namespace = namespace_of(pod)
    index = lister.once((SelectorIndex, namespace), lambda: SelectorIndex(lister.scan(SERVICES, namespace), _selector))
    return keys_of(SERVICES, index.selecting(labels_of(pod)))


def _selector(service: Object) -> LabelSelector:
    return of_object({"matchLabels": at(service, "spec", "selector") or {}})


def pods_of(service: Object, lister: Lister) -> Sequence[Object]:
    """The pods that a service with a selector leads to, by name."""
    return lister.labelled(PODS, namespace_of(service), at(service, "spec", "selector"))


def _subsets(service: Object, found: Sequence[Backend]) -> list[dict[str, Any]]:
    """The addresses grouped by the ports that they have, in the order of kube-apiserver."""
    grouped: dict[tuple[Any, ...], dict[str, list[Backend]]] = {}
    for each in found:
        ports = tuple(sorted(each.ports, key=repr))
        if not ports and not behind.is_headless(service):
            continue
        group = grouped.setdefault(ports, {"addresses": [], "notReadyAddresses": []})
        group["addresses" if each.ready else "notReadyAddresses"].append(each)
    subsets: list[dict[str, Any]] = []
    for ports, group in sorted(grouped.items(), key=repr):
        made: dict[str, Any] = {
            name: [_address(service, each) for each in sorted(members, key=lambda one: one.address)]
            for name, members in group.items()
            if members
        }
        if ports:
            made["ports"] = [_port(dict(port)) for port in ports]
        subsets.append(made)
    return subsets


def _port(port: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in port.items() if value != ""}


def _address(service: Object, each: Backend) -> dict[str, Any]:
    made: dict[str, Any] = {"ip": each.address}
    if behind.hostname(service, each.pod):
        made["hostname"] = behind.hostname(service, each.pod)
    if at(each.pod, "spec", "nodeName"):
        made["nodeName"] = each.pod["spec"]["nodeName"]
    return {**made, "targetRef": each.target}
