"""The times at which pods have to go because of tainted devices, and the rules that are to blame.

Upstream: pkg/controller/devicetainteviction (``claimEvictionTime``, ``podEvictionTime``), release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.engine.controllers.device_taint_rules import TaintRules
from simkit.engine.controllers.lister import Lister, uid_of
from simkit.engine.controllers.resources import RESOURCE_CLAIMS, RESOURCE_SLICES
from simkit.logic.workloads.device_id import DeviceId, PoolId, generation_of, pool_of
from simkit.logic.workloads.nodes import tolerated
from simkit.logic.workloads.resource_claims import claim_name
from simkit.meta.clock import moment
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, controller_of, namespace_of

_EVICTS: Final = "NoExecute"


class DeviceEviction(NamedTuple):
    """A time in seconds since the epoch, and the uids of the rules that have a part in it."""

    when: float
    rules: frozenset[str] = frozenset()


def pod_eviction(pod: Object, lister: Lister, rules: TaintRules) -> DeviceEviction | None:
    """The earliest time at which a device of a pod drives it away; None if none does."""
    if not at(pod, "spec", "nodeName"):
        return None
    found = [each for claim in _claims(pod, lister) for each in _evictions(claim, lister, rules)]
    if not found:
        return None
    return DeviceEviction(min(each.when for each in found), frozenset().union(*(each.rules for each in found)))


def published_devices(lister: Lister) -> Mapping[DeviceId, Mapping[str, Any]]:
    """The devices of all slices that no newer generation has replaced, found once for a lister. O(devices)."""
    return lister.once("published devices", lambda: dict(_published(lister)))


def allocated_devices(claim: Object) -> Iterator[tuple[DeviceId, Mapping[str, Any]]]:
    """The devices of an allocation, each with what is said of it, those for administrators too."""
    for each in at(claim, "status", "allocation", "devices", "results") or ():
        yield DeviceId(each.get("driver", ""), each.get("pool", ""), each.get("device", "")), each


def _published(lister: Lister) -> Iterator[tuple[DeviceId, Mapping[str, Any]]]:
    slices = [each.get("spec") or {} for each in lister.scan(RESOURCE_SLICES)]
    newest: dict[PoolId, int] = {}
    for spec in slices:
        pool, generation = pool_of(spec), generation_of(spec)
        newest[pool] = max(generation, newest.get(pool, generation))
    for spec in slices:
        for device in spec.get("devices") or () if generation_of(spec) == newest[pool_of(spec)] else ():
            yield DeviceId(*pool_of(spec), device.get("name", "")), device


def _claims(pod: Object, lister: Lister) -> Iterator[Object]:
    """The claims that are reserved for a pod, and made for it where it names a template."""
    for reference in at(pod, "spec", "resourceClaims") or ():
        name = claim_name(pod, reference)
        claim = lister.get(Key(RESOURCE_CLAIMS, namespace_of(pod), name)) if name else None
        if claim is None or not any(
            each.get("uid") == uid_of(pod) for each in at(claim, "status", "reservedFor") or ()
        ):
            continue
        if reference.get("resourceClaimName") or (controller_of(claim) or {}).get("uid") == uid_of(pod):
            yield claim


def _evictions(claim: Object, lister: Lister, rules: TaintRules) -> Iterator[DeviceEviction]:
    """One eviction for each taint that is not tolerated for ever."""
    for device, result in allocated_devices(claim):
        published = published_devices(lister).get(device)
        tolerations = result.get("tolerations") or ()
        for taint in (published or {}).get("taints") or ():
            if taint.get("effect") == _EVICTS:
                yield from _eviction(taint, tolerations, frozenset())
        for rule in rules.evicting(device, published):
            yield from _eviction(at(rule, "spec", "taint") or {}, tolerations, frozenset({uid_of(rule)}))


def _eviction(taint: Mapping[str, Any], tolerations: Any, rules: frozenset[str]) -> Iterator[DeviceEviction]:
    """The end of the shortest toleration, or the time of the taint if nothing tolerates it.

    A toleration has to name the effect: one for all effects keeps a device usable, but not its pods.
    """
    fitting = [each for each in tolerations if each.get("effect") == _EVICTS and tolerated(each, taint)]
    seconds = [each.get("tolerationSeconds") for each in fitting]
    if None not in seconds:
        stays = min((max(0, int(each)) for each in seconds), default=0)
        yield DeviceEviction(moment(taint["timeAdded"]) + stays if taint.get("timeAdded") else 0.0, rules)
