"""Spreads endpoints over as few EndpointSlices as possible, without touching unchanged ones.

Upstream: k8s.io/endpointslice/reconciler.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simkit.engine.controllers.client_requests import create, expect, remove, replace
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resources import SLICES
from simkit.logic.workloads import backends as behind
from simkit.logic.workloads.pods import by_age
from simkit.meta.objects import Object, annotations_of, labels_of, with_metadata

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
