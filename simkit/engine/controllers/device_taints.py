"""Taints of devices: the rules that set them, the pods that have to go, and how far that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.resources import DEVICE_CLASSES, DEVICE_TAINT_RULES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from simkit.logic.workloads.device_id import DeviceId, PoolId, generation_of, pool_of
from simkit.logic.workloads.nodes import tolerated
from simkit.logic.workloads.resource_claims import claim_name
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import moment
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, controller_of, metadata, name_of, namespace_of

# Rules that taint devices: which count at a release, and the devices that each selects.
# Upstream: k8s.io/dynamic-resource-allocation/resourceslice/tracker, releases 1.34 and 1.36.

_NAMED = ("driver", "pool", "device")


class TaintRules:
    """The rules that count, in the order of their names.

    Parameters
    ----------
    behaviour
        The behaviour of the release that is served.
    class_of
        A device class by name, which rules could name up to release 1.34.
    """

    def __init__(
        self, behaviour: ServedBehaviour, rules: Sequence[Object], class_of: Callable[[str], Object | None]
    ) -> None:
        self._behaviour, self.rules, self._class_of = behaviour, sorted(rules, key=name_of), class_of

    def alone(self, rule: Object) -> TaintRules:
        """One rule, as if there were no others."""
        return TaintRules(self._behaviour, [rule], self._class_of)

    def taints(self, device: DeviceId, published: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The taints that the rules add to a published device. A rule without a selector taints every device."""
        return [at(each, "spec", "taint") or {} for each in self.rules if self._selects(each, device, published)]

    def evicting(self, device: DeviceId, published: Mapping[str, Any] | None) -> list[Object]:
        """The rules by which a device that a claim has is tainted with NoExecute.

        A rule by class needs to know the device; one without a selector evicts nobody since release 1.35.
        """
        by_class = self._behaviour.applies("rules-taint-devices-by-class")
        return [
            each
            for each in self.rules
            if at(each, "spec", "taint", "effect") == "NoExecute"
            and (published is not None if by_class else at(each, "spec", "deviceSelector") is not None)
            and self._selects(each, device, published or {})
        ]

    def _selects(self, rule: Object, device: DeviceId, published: Mapping[str, Any]) -> bool:
        selector = at(rule, "spec", "deviceSelector") or {}
        if not names_device(rule, device):
            return False
        expressions = list(selector.get("selectors") or ())
        if selector.get("deviceClassName"):
            found = self._class_of(selector["deviceClassName"])
            if found is None:
                return False
            expressions = [*(at(found, "spec", "selectors") or ()), *expressions]
        texts = (str(at(each, "cel", "expression") or "") for each in expressions)
        return all(_fits(self._behaviour, text, device, published) for text in texts)


def names_device(rule: Object, device: DeviceId) -> bool:
    """True if a rule names a device, by what it says of driver, pool and name."""
    selector = at(rule, "spec", "deviceSelector") or {}
    return all(selector.get(name) in (None, value) for name, value in zip(_NAMED, device, strict=True))


def _fits(behaviour: ServedBehaviour, expression: str, device: DeviceId, published: Mapping[str, Any]) -> bool:
    """True if an expression selects a device; one that fails for it does not."""
    from simkit.language.cel.errors import BudgetExceeded, CompileError, EvaluationError  # which no server loads early
    from simkit.logic.workloads.device_selectors import selects_device

    try:
        return selects_device(behaviour, expression, device.driver, published)
    except (CompileError, EvaluationError, BudgetExceeded):
        return False


def rules_count(behaviour: ServedBehaviour) -> bool:
    """True if rules taint devices at the served release."""
    if behaviour.applies("rules-taint-devices-by-class"):
        return behaviour.applies("scheduler-heeds-device-taints")
    return behaviour.applies("rules-taint-devices")


def taint_rules(lister: Lister) -> TaintRules:
    """The rules that count, read once for a lister."""
    return lister.once("device taint rules", lambda: _read(lister))


def _read(lister: Lister) -> TaintRules:
    behaviour = lister.snapshot.behaviour
    if not rules_count(behaviour) or DEVICE_TAINT_RULES not in lister.snapshot.captured():
        return TaintRules(behaviour, (), lambda _: None)
    classes = {name_of(each): each for each in lister.scan(DEVICE_CLASSES)} if _need_classes(lister) else {}
    return TaintRules(behaviour, lister.scan(DEVICE_TAINT_RULES), classes.get)


def _need_classes(lister: Lister) -> bool:
    """True if rules may name classes, and these are known."""
    return (
        lister.snapshot.behaviour.applies("rules-taint-devices-by-class")
        and DEVICE_CLASSES in lister.snapshot.captured()
    )


# The times at which pods have to go because of tainted devices, and the rules that are to blame.
# Upstream: pkg/controller/devicetainteviction (``claimEvictionTime``, ``podEvictionTime``), release 1.36.

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


# The condition of a rule for taints of devices: whether pods have to go because of it, and how many have gone.
# Upstream: pkg/controller/devicetainteviction (``maybeUpdateRuleStatus``), release 1.36.

EVICTION_IN_PROGRESS: Final = "EvictionInProgress"
_NOT_AGAIN: Final = "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."


class _Pending(NamedTuple):
    """The pods that have to go because of a rule."""

    pods: int
    namespaces: int

    def __str__(self) -> str:
        where = "1 namespace" if self.namespaces == 1 else f"{self.namespaces} different namespaces"
        return f"in {where}"


def progress(rule: Object, lister: Lister, rules: TaintRules, evicted: int) -> dict[str, Any]:
    """The condition ``EvictionInProgress`` of a rule, without its time.

    O(pods) for a rule that evicts; one without effect is told what it would do.
    """
    effect = str(at(rule, "spec", "taint", "effect") or "")
    status, reason, message = "False", "OtherEffect", "Eviction only happens for the NoExecute effect."
    if effect == "NoExecute":
        pending = _pending(rule, lister, rules)
        reason, message = "Completed" if evicted else "NotStarted", ""
        if pending.pods:
            what = "1 pod needs" if pending.pods == 1 else f"{pending.pods} pods need"
            status, reason, message = "True", "PodsPendingEviction", f"{what} to be evicted {pending}."
    elif effect == "None":
        reason, message = "NoEffect", _without_effect(rule, lister, rules)
    if evicted:
        told = f"{_counted(evicted, 'pod')} evicted since starting the controller."
        message = f"{message} {told}" if message else told
    return {
        "type": EVICTION_IN_PROGRESS,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": int(metadata(rule).get("generation") or 0),
    }


def _without_effect(rule: Object, lister: Lister, rules: TaintRules) -> str:
    """The devices and pods that a rule would concern if it evicted."""
    published = sum(names_device(rule, device) for device in published_devices(lister))
    claims = lister.scan(RESOURCE_CLAIMS)
    allocated = sum(names_device(rule, device) for claim in claims for device, _ in allocated_devices(claim))
    executing = {**rule, "spec": {**rule["spec"], "taint": {**rule["spec"]["taint"], "effect": "NoExecute"}}}
    pending = _pending(executing, lister, rules.alone(executing))
    devices = [
        f"{_counted(count, f'{kind} device')} selected."
        for count, kind in ((published, "published"), (allocated, "allocated"))
    ]
    pods = f"{_counted(pending.pods, 'pod')} would be evicted {pending} if the effect was NoExecute."
    return " ".join([*devices, pods, _NOT_AGAIN])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _pending(rule: Object, lister: Lister, rules: TaintRules) -> _Pending:
    uid = uid_of(rule)
    found = [each for each in lister.scan(PODS) if at(each, "spec", "resourceClaims") and not is_terminating(each)]
    evictions = [(namespace_of(each), pod_eviction(each, lister, rules)) for each in found]
    namespaces = [namespace for namespace, each in evictions if each is not None and uid in each.rules]
    return _Pending(len(namespaces), len(set(namespaces)))
