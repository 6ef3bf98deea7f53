"""Controllers of Endpoints and EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.indexer import SelectorIndex
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import create, expect, keys_of, remove, replace
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import ENDPOINTS, NODES, PODS, SERVICES, SLICES
from simkit.logic.workloads import backends as behind
from simkit.logic.workloads.backends import Backend
from simkit.logic.workloads.pods import by_age, owner_reference
from simkit.meta.domain import API_DOMAIN, LAST_APPLIED, label
from simkit.meta.labels import LabelSelector, of_object
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, name_of, namespace_of, with_metadata
from simkit.seams import Change

# Keeps the Endpoints of Services: ready and not ready addresses, grouped by ports.
# Upstream: pkg/controller/endpoint, release 1.30.

_MOST_ADDRESSES: Final = 1000


class EndpointsController(ResourceWatcher):
    """Keeps one Endpoints object of the Service's name. Services without a selector are left alone."""

    name = "endpoints-controller"
    account = "endpoint-controller"

    def __init__(self) -> None:
        super().__init__(SERVICES, PODS, ENDPOINTS)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return services_of(change, lister)

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
        subsets = _subsets(service, found[:_MOST_ADDRESSES])
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
        return {**notes, behind.OVER_CAPACITY: "truncated"} if len(found) > _MOST_ADDRESSES else notes


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
            made["ports"] = [{name: value for name, value in port if value != ""} for port in ports]
        subsets.append(made)
    return subsets


def _address(service: Object, each: Backend) -> dict[str, Any]:
    made: dict[str, Any] = {"ip": each.address}
    if behind.hostname(service, each.pod):
        made["hostname"] = behind.hostname(service, each.pod)
    if at(each.pod, "spec", "nodeName"):
        made["nodeName"] = each.pod["spec"]["nodeName"]
    return {**made, "targetRef": each.target}


# Spreads endpoints over as few EndpointSlices as possible, without touching unchanged ones.
# Upstream: k8s.io/endpointslice/reconciler.go, release 1.30.

Group = tuple[str, tuple[Any, ...]]
"""An address family and a set of ports: what all endpoints of a slice share."""


def slices_of(lister: Lister, namespace: str, service: str, manager: str) -> list[Object]:
    """The slices of a service that a manager keeps."""
    return [
        each
        for each in lister.labelled(SLICES, namespace, {behind.SERVICE_NAME: service, behind.MANAGED_BY: manager})
        if not is_terminating(each)
    ]


@dataclass(frozen=True, slots=True)
class SliceReconciler:
    """Writes the slices of one owner, all with the same labels and manager."""

    client: Client
    namespace: str
    service: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owner: Mapping[str, Any]
    most: int
    """The largest number of endpoints in a slice."""

    def reconcile(self, wanted: Mapping[Group, Sequence[dict[str, Any]]], present: Sequence[Object]) -> None:
        """Make the present slices hold the wanted endpoints. A group without any has one empty slice."""
        left: dict[Group, list[Object]] = {}
        for each in by_age(present):
            left.setdefault(_group_of(each), []).append(each)
        for group, endpoints in wanted.items():
            self._fill(group, endpoints, left.pop(group, []))
        for others in left.values():
            for each in others:
                remove(self.client, SLICES, each)

    def _fill(self, group: Group, endpoints: Sequence[dict[str, Any]], own: Sequence[Object]) -> None:
        """Spread endpoints over the slices that there are; more are made where they do not fit."""
        waiting = {tuple(each["addresses"]): each for each in endpoints}
        contents: list[list[dict[str, Any]]] = []
        for each in own:
            kept = [tuple(one.get("addresses") or ()) for one in each.get("endpoints") or ()]
            contents.append([waiting.pop(addresses) for addresses in kept if addresses in waiting])
        rest = list(waiting.values())
        for part in contents:
            room = self.most - len(part)
            part.extend(rest[:room])
            rest = rest[room:]
        first = True
        for each, part in zip(own, contents, strict=True):
            if not part and (endpoints or not first):
                remove(self.client, SLICES, each)
            else:
                first = False
                self._update(each, part)
        if not endpoints and not own:
            self._create(group, [])
        while rest:
            self._create(group, rest[: self.most])
            rest = rest[self.most :]

    def _update(self, each: Object, part: Sequence[dict[str, Any]]) -> None:
        if list(part) == list(each.get("endpoints") or ()) and self.labels == labels_of(each):
            return
        notes = {**annotations_of(each), **self.annotations}
        wanted = {**with_metadata(each, labels=dict(self.labels), annotations=notes), "endpoints": list(part)}
        expect(replace(self.client, SLICES, wanted), 404, 409)

    def _create(self, group: Group, part: Sequence[dict[str, Any]]) -> None:
        family, ports = group
        meta = {
            "generateName": f"{self.service}-",
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "ownerReferences": [dict(self.owner)],
        }
        made: dict[str, Any] = {
            "apiVersion": f"{SLICES.group}/v1",
            "kind": "EndpointSlice",
            "metadata": meta,
            "addressType": family,
            "endpoints": list(part),
            "ports": [dict(port) for port in ports],
        }
        expect(create(self.client, SLICES, self.namespace, made), 403, 404, 409)


PORT_FIELDS = ("name", "protocol", "port", "appProtocol")


def _group_of(each: Object) -> Group:
    ports = tuple(tuple((name, port[name]) for name in PORT_FIELDS if name in port) for port in each.get("ports") or ())
    return each.get("addressType", ""), ports


# Keeps the EndpointSlices of Services that have a selector.
# Upstream: pkg/controller/endpointslice, release 1.30.

MANAGER: Final = f"endpointslice-controller.{API_DOMAIN}"
_MOST_IN_SLICE: Final = 100


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
            most=_MOST_IN_SLICE,
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


# Mirrors hand-written Endpoints of Services without a selector into EndpointSlices.
# Upstream: pkg/controller/endpointslicemirroring, release 1.30.

MIRRORING_MANAGER: Final = f"endpointslicemirroring-controller.{API_DOMAIN}"
_MOST_MIRRORED: Final = 1000
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
        own = labels_of(obj).get(behind.MANAGED_BY) == MIRRORING_MANAGER
        return [Key(ENDPOINTS, key.namespace, labels_of(obj).get(behind.SERVICE_NAME, ""))] if own else ()

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        endpoints, service = lister.get(key), lister.get(Key(SERVICES, key.namespace, key.name))
        present = slices_of(lister, key.namespace, key.name, MIRRORING_MANAGER)
        selects = service is None or at(service, "spec", "selector")
        if endpoints is None or is_terminating(endpoints) or not _is_mirrored(endpoints) or selects:
            for each in present:
                remove(client, SLICES, each)
            return
        notes = annotations_of(endpoints)
        keeper = SliceReconciler(
            client,
            key.namespace,
            key.name,
            labels={**labels_of(endpoints), behind.SERVICE_NAME: key.name, behind.MANAGED_BY: MIRRORING_MANAGER},
            annotations={name: value for name, value in notes.items() if name not in _NOT_COPIED},
            owner=owner_reference("v1", "Endpoints", endpoints),
            most=_MOST_MIRRORED,
        )
        keeper.reconcile(_wanted(endpoints), present)


def _is_mirrored(endpoints: Object) -> bool:
    return labels_of(endpoints).get(_SKIP) != "true" and _LEADER not in annotations_of(endpoints)


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
                groups.setdefault((family, ports), []).append(_mirrored_endpoint(address, ready=ready))
    return groups


def _mirrored_endpoint(address: Mapping[str, Any], *, ready: bool) -> dict[str, Any]:
    kept = {name: address[name] for name in ("hostname", "targetRef", "nodeName") if address.get(name)}
    return {"addresses": [address["ip"]], "conditions": {"ready": ready}, **kept}
