"""The pools of devices that a node reaches, from the resource slices of drivers.

Upstream: k8s.io/dynamic-resource-allocation/structured (``GatherPools``), release 1.34.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from simkit.engine.controllers.device_taint_rules import TaintRules, taint_rules
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resources import RESOURCE_SLICES
from simkit.logic.workloads.device_id import DeviceId, PoolId, generation_of, pool_of
from simkit.logic.workloads.nodes import term_fits
from simkit.meta.behaviour import applies
from simkit.meta.objects import Object, at, name_of


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device with the slice that names it."""

    id: DeviceId
    object: Mapping[str, Any]
    slice: Mapping[str, Any]
    """The specification of the slice."""
    taints: Sequence[Mapping[str, Any]] = ()
    """The taints of the device, and those that rules add."""

    @property
    def placed(self) -> Mapping[str, Any]:
        """The part that names the nodes on which the device can be used: itself, or its slice."""
        return self.object if self.slice.get("perDeviceNodeSelection") else self.slice

    def attribute(self, name: str) -> Mapping[str, Any] | None:
        """An attribute by its full name; those of the driver itself need not have the domain in theirs."""
        attributes = self.object.get("attributes") or {}
        domain, _, short = name.partition("/")
        found: Mapping[str, Any] | None = attributes.get(name)
        return found if found is not None or domain != self.id.driver else attributes.get(short)


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """A pool as one node sees it.

    Attributes
    ----------
    devices
        The devices that the node reaches.
    incomplete
        True if slices of the pool are missing.
    invalid
        True if two of its devices have the same name.
    everything
        The specifications of all slices of the pool, those for other nodes too.
    """

    id: PoolId
    devices: Sequence[Device]
    incomplete: bool
    invalid: bool
    everything: Sequence[Mapping[str, Any]]

    def __str__(self) -> str:
        return "/".join(self.id)


def pools_of(node: Object, lister: Lister) -> list[Pool]:
    """The pools with devices for a node, by driver and name; slices that a newer generation has replaced do not count.

    O(slices for the node or for several nodes). kube-scheduler takes pools in no certain order.
    """
    index = lister.once("slices by pool", lambda: _by_pool(lister.scan(RESOURCE_SLICES)))
    partitions, rules = applies("scheduler-counts-shared-counters"), taint_rules(lister)
    found = []
    for pool in sorted(index.pools_of(name_of(node))):
        every = index.slices[pool]
        reached = [each for each in every if _reaches(each, node, partitions=partitions)]
        if reached:
            made = _pool(pool, reached, every, node, rules)
            if made is not None:
                found.append(made)
    return found


class _Index(NamedTuple):
    """The specifications of slices by pool, and the pools for each node; the empty name is for several nodes."""

    slices: Mapping[PoolId, Sequence[Mapping[str, Any]]]
    pools: Mapping[str, set[PoolId]]

    def pools_of(self, node: str) -> set[PoolId]:
        return self.pools.get(node, set()) | self.pools.get("", set())


def _by_pool(slices: Iterable[Object]) -> _Index:
    found: dict[PoolId, list[Mapping[str, Any]]] = {}
    nodes: dict[str, set[PoolId]] = {}
    for each in sorted(slices, key=name_of):
        spec = each.get("spec") or {}
        pool = pool_of(spec)
        found.setdefault(pool, []).append(spec)
        nodes.setdefault(spec.get("nodeName") or "", set()).add(pool)
    return _Index(found, nodes)


def _pool(
    pool: PoolId,
    reached: Sequence[Mapping[str, Any]],
    every: Sequence[Mapping[str, Any]],
    node: Object,
    rules: TaintRules,
) -> Pool | None:
    """A pool; None if a newer generation that the node does not reach is replacing it."""
    newest = max(map(generation_of, reached))
    current = [each for each in reached if generation_of(each) == newest]
    count = int(at(current[0], "pool", "resourceSliceCount") or 0)
    same = [each for each in every if generation_of(each) == newest]
    if len(current) != count and any(generation_of(each) > newest for each in every):
        return None
    devices = [device for each in current for device in _devices(pool, each, rules)]
    names = {device.id.device for device in devices}
    return Pool(
        pool,
        [each for each in devices if not each.slice.get("perDeviceNodeSelection") or selects(each.object, node)],
        count not in (len(current), len(same)),
        len(names) < len(devices),
        same,
    )


def _devices(pool: PoolId, spec: Mapping[str, Any], rules: TaintRules) -> Iterator[Device]:
    for each in spec.get("devices") or ():
        device = DeviceId(*pool, str(each.get("name") or ""))
        yield Device(device, each, spec, [*(each.get("taints") or ()), *rules.taints(device, each)])


def _reaches(spec: Mapping[str, Any], node: Object, *, partitions: bool) -> bool:
    if spec.get("perDeviceNodeSelection"):
        return partitions and any(selects(each, node) for each in spec.get("devices") or ())
    return selects(spec, node)


def selects(placed: Mapping[str, Any], node: Object) -> bool:
    """True if a slice, or a device that says it itself, can be used on a node."""
    if placed.get("nodeName"):
        return bool(placed["nodeName"] == name_of(node))
    if placed.get("allNodes"):
        return True
    terms = at(placed, "nodeSelector", "nodeSelectorTerms") or ()
    return any(term_fits(term, node) for term in terms)
