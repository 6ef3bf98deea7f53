"""EndpointSlices: the addresses behind each service in pieces of at most a hundred."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from simkit.engine.controllers.endpoints import services_of
from simkit.engine.controllers.kinds import NODES, PODS, SERVICES, SLICES
from simkit.engine.controllers.runner import Client
from simkit.engine.controllers.sending import create, expect, keys_of, remove, replace
from simkit.engine.controllers.view import View, going
from simkit.engine.controllers.watching import Watching
from simkit.engine.seams import Change
from simkit.logic.workloads import backends as behind
from simkit.logic.workloads.backends import Backend
from simkit.logic.workloads.pods import by_age, owner_reference
from simkit.meta.domain import API_DOMAIN
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, name_of, with_metadata

MANAGER: Final = f"endpointslice-controller.{API_DOMAIN}"
_MOST: Final = 100
Group = tuple[str, tuple[Any, ...]]
"""An address family and a set of ports: what all endpoints of a slice share."""


class ServiceSlices(Watching):
    """Keeps as few slices as will do, and leaves those alone in which nothing changes."""

    name = account = "endpointslice-controller"

    def __init__(self) -> None:
        super().__init__(SERVICES, PODS, SLICES, NODES)

    def affected(self, change: Change, view: View) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        if key.resource == NODES:
            return self._on_node(key.name, view) if change.type == "ADDED" else ()
        if key.resource == SLICES:
            name = labels_of(obj).get(behind.SERVICE_NAME)
            own = labels_of(obj).get(behind.MANAGED_BY) == MANAGER
            return [Key(SERVICES, key.namespace, name)] if name and own else ()
        return services_of(change, view)

    def _on_node(self, node: str, view: View) -> Iterable[Key]:
        pods = [pod for pod in view.scan(PODS) if at(pod, "spec", "nodeName") == node]
        spaces = {pod["metadata"]["namespace"] for pod in pods}
        services = [each for space in spaces for each in view.scan(SERVICES, space)]
        return keys_of(SERVICES, [each for each in services if any(behind.selects(each, pod) for pod in pods)])

    def everything(self, view: View) -> Iterable[Key]:
        return keys_of(SERVICES, view.scan(SERVICES))

    def reconcile(self, client: Client, view: View, key: Key) -> None:
        service = view.get(key)
        if service is None or going(service) or not at(service, "spec", "selector"):
            return  # slices of a service that is gone go with it, as its dependents
        if at(service, "spec", "type") == "ExternalName":
            return
        slices = [
            each
            for each in view.scan(SLICES, key.namespace)
            if labels_of(each).get(behind.SERVICE_NAME) == key.name
            and labels_of(each).get(behind.MANAGED_BY) == MANAGER
            and not going(each)
        ]
        wanted = self._wanted(view, service)
        left = list(by_age(slices))
        for group, endpoints in wanted.items():
            own = [each for each in left if _group_of(each) == group]
            left = [each for each in left if each not in own]
            self._fill(client, service, group, endpoints, own)
        for each in left:
            remove(client, SLICES, each)

    def _wanted(self, view: View, service: Object) -> dict[Group, list[dict[str, Any]]]:
        """The endpoints by what slices have in common; a family without any has one empty group."""
        nodes = {name_of(node): node for node in view.scan(NODES)}
        wanted: dict[Group, list[dict[str, Any]]] = {}
        for family in behind.families(service):
            found = behind.backends(service, view.scan(PODS, service["metadata"]["namespace"]), family)
            groups: dict[Group, list[dict[str, Any]]] = {}
            for each in found:
                node = at(each.pod, "spec", "nodeName")
                if not node or (node not in nodes and not each.publish_early):
                    continue
                groups.setdefault((family, each.ports), []).append(_endpoint(service, each, nodes.get(node)))
            wanted |= groups or {(family, ()): []}
        return wanted

    def _fill(
        self, client: Client, service: Object, group: Group, endpoints: Sequence[dict[str, Any]], own: Sequence[Object]
    ) -> None:
        """Spread endpoints over the slices that there are; more are made where they do not fit."""
        waiting = {tuple(each["addresses"]): each for each in endpoints}
        contents: list[list[dict[str, Any]]] = []
        for each in own:
            kept = [tuple(one["addresses"]) for one in each.get("endpoints") or ()]
            contents.append([waiting.pop(addresses) for addresses in kept if addresses in waiting])
        rest = list(waiting.values())
        for part in contents:
            room = _MOST - len(part)
            part.extend(rest[:room])
            rest = rest[room:]
        first = True
        for each, part in zip(own, contents, strict=True):
            if not part and (endpoints or not first):
                remove(client, SLICES, each)
            else:
                first = False
                self._update(client, service, each, part)
        if not endpoints and not own:
            self._create(client, service, group, [])
        while rest:
            self._create(client, service, group, rest[:_MOST])
            rest = rest[_MOST:]

    def _update(self, client: Client, service: Object, each: Object, part: Sequence[dict[str, Any]]) -> None:
        labels = _labels(service)
        if list(part) == list(each.get("endpoints") or ()) and labels == labels_of(each):
            return
        notes = {**annotations_of(each), behind.CHANGED: behind.triggered(service, [])}
        wanted = {**with_metadata(each, labels=labels, annotations=notes), "endpoints": list(part)}
        expect(replace(client, SLICES, wanted), 404, 409)

    def _create(self, client: Client, service: Object, group: Group, part: Sequence[dict[str, Any]]) -> None:
        family, ports = group
        meta = {
            "generateName": f"{name_of(service)}-",
            "labels": _labels(service),
            "annotations": {behind.CHANGED: behind.triggered(service, [])},
            "ownerReferences": [owner_reference("v1", "Service", service)],
        }
        made: dict[str, Any] = {
            "apiVersion": f"{SLICES.group}/v1",
            "kind": "EndpointSlice",
            "metadata": meta,
            "addressType": family,
            "endpoints": list(part),
            "ports": [dict(port) for port in ports],
        }
        expect(create(client, SLICES, service["metadata"]["namespace"], made), 403, 404, 409)


def _labels(service: Object) -> dict[str, str]:
    own = {behind.SERVICE_NAME: name_of(service), behind.MANAGED_BY: MANAGER}
    return {**behind.inherited(service), **own}


def _group_of(each: Object) -> Group:
    ports = tuple(
        tuple((name, port[name]) for name in ("name", "protocol", "port", "appProtocol") if name in port)
        for port in each.get("ports") or ()
    )
    return each.get("addressType", ""), ports


def _endpoint(service: Object, each: Backend, node: Object | None) -> dict[str, Any]:
    conditions = {"ready": each.ready, "serving": each.serving, "terminating": each.going}
    made: dict[str, Any] = {"addresses": [each.address], "conditions": conditions}
    if behind.hostname(service, each.pod):
        made["hostname"] = behind.hostname(service, each.pod)
    made |= {"targetRef": each.target, "nodeName": each.pod["spec"]["nodeName"]}
    zone = labels_of(node).get(behind.ZONE) if node is not None else None
    return {**made, "zone": zone} if zone else made
