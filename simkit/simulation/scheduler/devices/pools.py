"""The pools of devices that a node reaches, and the conditions that drivers report of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.client.lister import Lister
from simkit.client.resources import RESOURCE_SLICES
from simkit.engine.controllers.device_taints import TaintRules, taint_rules
from simkit.logic.workloads.device_id import DeviceId, PoolId, generation_of, pool_of
from simkit.logic.workloads.nodes import term_fits
from simkit.logic.workloads.status_conditions import find, is_true
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import moment
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object, at, name_of

# Conditions that the drivers of devices have to report before a pod is bound, and those by which they give up.
# Upstream: pkg/scheduler/framework/plugins/dynamicresources (``isClaimReadyForBinding``), releases 1.34 and 1.36.

BINDING_TIMEOUT: Final = 600.0
"""Seconds after an allocation in which drivers have to report the conditions."""
_DEVICE: Final = ("driver", "pool", "device")


class BindingFailed(Exception):
    """A device that does not get ready. The text is kube-scheduler's."""


def awaits_devices(behaviour: ServedBehaviour) -> bool:
    """True if devices with such conditions are allocated at the served release, and waited for."""
    return behaviour.applies("scheduler-awaits-devices") and behaviour.applies("drivers-tell-status-of-devices")


def has_binding_conditions(behaviour: ServedBehaviour, claims: Iterable[Object]) -> bool:
    """True if a device of one of the claims has to be waited for."""
    return awaits_devices(behaviour) and any(True for claim in claims for _ in _awaited(claim))


def _awaited(claim: Object) -> Iterator[Mapping[str, Any]]:
    """The devices of a claim that have conditions."""
    results = at(claim, "status", "allocation", "devices", "results") or ()
    return (each for each in results if each.get("bindingConditions"))


def is_ready(behaviour: ServedBehaviour, claim: Object) -> bool:
    """True if all conditions of all devices of a claim are met. Raises BindingFailed if one never will be."""
    if at(claim, "status", "allocation") is None:
        return False
    for result in _awaited(claim):
        conditions = _conditions(claim, result)
        if conditions is None:
            return False
        for name in result.get("bindingFailureConditions") or ():
            if is_true(conditions, name):
                raise BindingFailed(_failure(behaviour, claim, find(conditions, name) or {}))
        if not all(is_true(conditions, name) for name in result["bindingConditions"]):
            return False
    return True


def _conditions(claim: Object, result: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """The conditions of an allocated device; None if its driver has told nothing of it."""
    for each in at(claim, "status", "devices") or ():
        if all(each.get(name) == result.get(name) for name in _DEVICE):
            return list(each.get("conditions") or ())
    return None


def _failure(behaviour: ServedBehaviour, claim: Object, condition: Mapping[str, Any]) -> str:
    why = f"reason={condition.get('reason', '')}, message={quoted(str(condition.get('message') or ''))}"
    if behaviour.applies("scheduler-names-errors-of-binding"):
        return f"device binding failed: claim={name_of(claim)}, {why}"
    return f"claim {name_of(claim)} binding failed: {why}"


def is_timed_out(claim: Object, now: float) -> bool:
    """True if the conditions of a claim had to be reported before a time in seconds since the epoch."""
    allocated = at(claim, "status", "allocation", "allocationTimestamp")
    return bool(allocated) and any(True for _ in _awaited(claim)) and moment(allocated) + BINDING_TIMEOUT < now


def check_time(behaviour: ServedBehaviour, claim: Object, now: float) -> None:
    """Raise BindingFailed for a claim that is not ready in time."""
    if is_timed_out(claim, now):
        named = behaviour.applies("scheduler-names-errors-of-binding")
        text = "device binding timeout: claim={}" if named else "claim {} binding timeout"
        raise BindingFailed(text.format(name_of(claim)))


def deadline_passed(behaviour: ServedBehaviour) -> str:
    """The text for a pod that has waited as long as it may."""
    named = behaviour.applies("scheduler-names-errors-of-binding")
    return "device binding timeout: context deadline exceeded" if named else "device binding timeout"


def is_stuck(behaviour: ServedBehaviour, claim: Object, now: float) -> bool:
    """True if the devices of a claim have failed, or were not ready in time, so that it needs others."""
    if not awaits_devices(behaviour) or at(claim, "status", "allocation") is None:
        return False
    try:
        return not is_ready(behaviour, claim) and is_timed_out(claim, now)
    except BindingFailed:
        return True


# The pools of devices that a node reaches, from the resource slices of drivers.
# Upstream: k8s.io/dynamic-resource-allocation/structured (``GatherPools``), releases 1.34 to 1.36.

Spec = Mapping[str, Any]
"""The specification of a slice."""


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device with the slice that names it."""

    id: DeviceId
    object: Mapping[str, Any]
    slice: Spec
    taints: Sequence[Mapping[str, Any]] = ()
    """The taints of the device, and those that rules add."""
    here: bool = True
    """True if the node reaches it; a slice of which it reaches one has others too."""

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
        The devices of the slices that the node reaches.
    incomplete
        True if slices of the pool are missing; nothing else is known of it then.
    invalid
        True if two of its devices or counter sets have the same name, or a device consumes a counter that is not there.
    everything
        The specifications of all slices of the pool, those for other nodes too.
    """

    id: PoolId
    devices: Sequence[Device]
    incomplete: bool
    invalid: bool
    everything: Sequence[Spec]

    def __str__(self) -> str:
        return "/".join(self.id)


def pools_of(node: Object, lister: Lister) -> list[Pool]:
    """The pools with devices for a node, by driver and name; those of which a device has to get ready first come last.

    Slices that a newer generation has replaced do not count. O(slices for the node or for several nodes).
    """
    index = lister.once("slices by pool", lambda: _by_pool(lister.scan(RESOURCE_SLICES)))
    partitions, rules = lister.snapshot.behaviour.applies("scheduler-counts-shared-counters"), taint_rules(lister)
    found = []
    for pool in sorted(index.pools_of(name_of(node))):
        every = index.slices[pool]
        reached = [each for each in every if _reaches(each, node, partitions=partitions)]
        if reached:
            made = _pool(lister.snapshot.behaviour, pool, reached, every, node, rules)
            if made is not None:
                found.append(made)
    return sorted(found, key=_has_to_get_ready) if awaits_devices(lister.snapshot.behaviour) else found


def _has_to_get_ready(pool: Pool) -> bool:
    return any(each.object.get("bindingConditions") for each in pool.devices)


class _Index(NamedTuple):
    """The specifications of slices by pool, and the pools for each node; the empty name is for several nodes."""

    slices: Mapping[PoolId, Sequence[Spec]]
    pools: Mapping[str, set[PoolId]]

    def pools_of(self, node: str) -> set[PoolId]:
        return self.pools.get(node, set()) | self.pools.get("", set())


def _by_pool(slices: Iterable[Object]) -> _Index:
    """Slices with counters concern every node, whatever they say."""
    found: dict[PoolId, list[Spec]] = {}
    nodes: dict[str, set[PoolId]] = {}
    for each in sorted(slices, key=name_of):
        spec = each.get("spec") or {}
        pool = pool_of(spec)
        found.setdefault(pool, []).append(spec)
        node = "" if spec.get("sharedCounters") else spec.get("nodeName") or ""
        nodes.setdefault(node, set()).add(pool)
    return _Index(found, nodes)


def _pool(
    behaviour: ServedBehaviour,
    pool: PoolId,
    reached: Sequence[Spec],
    every: Sequence[Spec],
    node: Object,
    rules: TaintRules,
) -> Pool | None:
    """A pool; None if a newer generation that the node does not reach is replacing it."""
    newest = max(map(generation_of, reached))
    current = [each for each in reached if generation_of(each) == newest]
    count, everything = int(at(current[0], "pool", "resourceSliceCount") or 0), current
    if len(current) != count:
        if any(generation_of(each) > newest for each in every):
            return None
        everything = [each for each in every if generation_of(each) == newest]
        if len(everything) != count:
            return Pool(pool, (), True, False, ())
    devices = [device for each in current for device in _devices(pool, each, node, rules)]
    names = {device.id.device for device in devices}
    invalid = len(names) < len(devices) or (
        behaviour.applies("scheduler-counts-shared-counters") and not _counters_fit(current, everything)
    )
    return Pool(pool, () if invalid else devices, False, invalid, everything)


def _counters_fit(current: Sequence[Spec], everything: Sequence[Spec]) -> bool:
    """True if the counter sets of a pool have different names, and hold all counters that its devices consume."""
    sets = [each for spec in current for each in spec.get("sharedCounters") or ()]
    counters = {each.get("name", ""): set(each.get("counters") or {}) for each in sets}
    consumed = (
        each
        for spec in everything
        for device in spec.get("devices") or ()
        for each in device.get("consumesCounters") or ()
    )
    return len(counters) == len(sets) and all(
        set(each.get("counters") or {}) <= counters.get(each.get("counterSet", ""), set())
        and each.get("counterSet", "") in counters
        for each in consumed
    )


def _devices(pool: PoolId, spec: Spec, node: Object, rules: TaintRules) -> Iterator[Device]:
    for each in spec.get("devices") or ():
        device = DeviceId(*pool, str(each.get("name") or ""))
        here = not spec.get("perDeviceNodeSelection") or selects(each, node)
        yield Device(device, each, spec, [*(each.get("taints") or ()), *rules.taints(device, each)], here)


def _reaches(spec: Spec, node: Object, *, partitions: bool) -> bool:
    """True if a slice concerns a node: all with counters do, if the release knows those."""
    if spec.get("sharedCounters") or spec.get("perDeviceNodeSelection"):
        if not partitions or spec.get("sharedCounters"):
            return partitions
        return any(selects(each, node) for each in spec.get("devices") or ())
    return selects(spec, node)


def selects(placed: Mapping[str, Any], node: Object) -> bool:
    """True if a slice, or a device that says it itself, can be used on a node."""
    if placed.get("nodeName"):
        return bool(placed["nodeName"] == name_of(node))
    if placed.get("allNodes"):
        return True
    terms = at(placed, "nodeSelector", "nodeSelectorTerms") or ()
    return any(term_fits(term, node) for term in terms)
