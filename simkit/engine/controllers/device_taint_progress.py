"""The condition of a rule for taints of devices: whether pods have to go because of it, and how many have gone.

Upstream: pkg/controller/devicetainteviction (``maybeUpdateRuleStatus``), release 1.36.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from simkit.engine.controllers.device_evictions import allocated_devices, pod_eviction, published_devices
from simkit.engine.controllers.device_taint_rules import TaintRules, names_device
from simkit.engine.controllers.lister import Lister, is_terminating, uid_of
from simkit.engine.controllers.resources import PODS, RESOURCE_CLAIMS
from simkit.meta.objects import Object, at, metadata, namespace_of

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
