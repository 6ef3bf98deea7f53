"""The allocation of a claim as its status tells it: devices, their configuration, and the nodes for which it is.

Upstream: k8s.io/dynamic-resource-allocation/structured (``Allocate``, ``createNodeSelector``), release 1.34.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object, at, name_of
from simkit.simulation.scheduler.devices.allocator import Chosen
from simkit.simulation.scheduler.devices.pools import awaits_devices
from simkit.simulation.scheduler.devices.requests import Request

_CONDITIONS: Final = ("bindingConditions", "bindingFailureConditions")


def allocation_result(
    behaviour: ServedBehaviour, claim: Object, chosen: Sequence[Chosen], node: str, new_share: Callable[[], str]
) -> dict[str, Any]:
    """``status.allocation`` of a claim on a node; ``new_share`` makes up the identity of a share of a device."""
    devices: dict[str, Any] = {"results": [_result(behaviour, each, new_share) for each in chosen]}
    config = [*_of_classes(chosen), *_of_claim(claim, chosen)]
    if config:
        devices["config"] = config
    selector = _node_selector(chosen, node)
    return {"devices": devices, **({"nodeSelector": selector} if selector else {})}


def _result(behaviour: ServedBehaviour, chosen: Chosen, new_share: Callable[[], str]) -> dict[str, Any]:
    request, device, consumed = chosen
    driver, pool, name = device.id
    found: dict[str, Any] = {"request": request.name, "driver": driver, "pool": pool, "device": name}
    if request.watches:
        found["adminAccess"] = True
    if request.spec.get("tolerations"):
        found["tolerations"] = request.spec["tolerations"]
    if awaits_devices(behaviour):
        found |= {name: device.object[name] for name in _CONDITIONS if device.object.get(name)}
    if consumed is not None:
        found["shareID"] = new_share()
    if consumed:
        found["consumedCapacity"] = {name: str(amount) for name, amount in consumed.items()}
    return found


def _requests(chosen: Sequence[Chosen]) -> list[Request]:
    return list(dict.fromkeys(each.request for each in chosen))


def _of_classes(chosen: Sequence[Chosen]) -> Iterator[dict[str, Any]]:
    """The configuration of each class once, for the requests that name it."""
    by_class: dict[str, list[Request]] = {}
    for request in _requests(chosen):
        by_class.setdefault(name_of(request.device_class), []).append(request)
    for requests in by_class.values():
        for each in at(requests[0].device_class, "spec", "config") or ():
            yield {"source": "FromClass", "requests": [request.name for request in requests], **each}


def _of_claim(claim: Object, chosen: Sequence[Chosen]) -> Iterator[dict[str, Any]]:
    """The configurations of the claim, each once for every request that it names."""
    for each in at(claim, "spec", "devices", "config") or ():
        named = each.get("requests") or ()
        if not named:
            yield {"source": "FromClaim", **each}
        for request in _requests(chosen) if named else ():
            if request.name in named or request.name.partition("/")[0] in named:
                yield {"source": "FromClaim", **each}


def _node_selector(chosen: Sequence[Chosen], node: str) -> dict[str, Any] | None:
    """The nodes that reach all devices: one, those of all selectors, or None for all nodes."""
    term: dict[str, list[Mapping[str, Any]]] = {"matchFields": [], "matchExpressions": []}
    for each in chosen:
        placed = each.device.placed
        if placed.get("nodeName") or each.device.object.get("bindsToNode"):
            named = {"key": "metadata.name", "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [named]}]}
        for added in at(placed, "nodeSelector", "nodeSelectorTerms") or ():
            for field, known in term.items():
                known += [one for one in added.get(field) or () if not any(_same(one, other) for other in known)]
    filled = {field: known for field, known in term.items() if known}
    return {"nodeSelectorTerms": [filled]} if filled else None


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    values = set(one.get("values") or ()) == set(other.get("values") or ())
    return values and all(one.get(field) == other.get(field) for field in ("key", "operator"))
