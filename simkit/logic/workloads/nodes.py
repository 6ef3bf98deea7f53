"""The nodes on which a pod may run, by labels, affinity and taints.

k8s.io/component-helpers/scheduling/corev1 and pkg/controller/nodelifecycle, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.logic.workloads.status_conditions import Condition, find
from simkit.meta.domain import label
from simkit.meta.integers import parse_int
from simkit.meta.labels import of_object
from simkit.meta.objects import Object, at, labels_of, metadata

NOT_READY: Final = label("not-ready", "node")
UNREACHABLE: Final = label("unreachable", "node")
UNSCHEDULABLE: Final = label("unschedulable", "node")
_TROUBLES: Final[Mapping[tuple[str, str], str]] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): label("memory-pressure", "node"),
    ("DiskPressure", "True"): label("disk-pressure", "node"),
    ("NetworkUnavailable", "True"): label("network-unavailable", "node"),
    ("PIDPressure", "True"): label("pid-pressure", "node"),
}
"""The taints of node conditions, by type and status."""
_REPORTED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that a kubelet reports, without that of the network."""
_NEVER_UPDATED: Final[Condition] = {
    "status": "Unknown",
    "reason": "NodeStatusNeverUpdated",
    "message": "Kubelet never posted node status.",
}
_NO_LONGER_UPDATED: Final[Condition] = {
    "status": "Unknown",
    "reason": "NodeStatusUnknown",
    "message": "Kubelet stopped posting node status.",
}
_HARD = "requiredDuringSchedulingIgnoredDuringExecution"


def fits(pod: Object, node: Object) -> bool:
    """True if the pod's node name, node selector and required node affinity allow a node."""
    name = at(pod, "spec", "nodeName")
    if name and name != metadata(node).get("name"):
        return False
    labels = labels_of(node)
    if not (at(pod, "spec", "nodeSelector") or {}).items() <= labels.items():
        return False
    required = at(pod, "spec", "affinity", "nodeAffinity", _HARD)
    if required is None:
        return True
    return any(term_fits(term, node) for term in required.get("nodeSelectorTerms") or ())


def term_fits(term: Mapping[str, Any], node: Object) -> bool:
    """True if one term of a node affinity means a node; an empty one means none."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    values = {"metadata.name": metadata(node).get("name", "")}
    return all(_holds(each, labels_of(node)) for each in expressions) and all(_holds(each, values) for each in fields)


def _holds(requirement: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    operator, key = requirement.get("operator"), requirement.get("key", "")
    if operator in ("Gt", "Lt"):
        wanted, present = (requirement.get("values") or [""])[0], values.get(key, "")
        bound, number = parse_int(wanted), parse_int(present)
        if bound is None or number is None:
            return False
        return number > bound if operator == "Gt" else number < bound
    return of_object({"matchExpressions": [requirement]}).matches(values)


def tolerates(tolerations: Sequence[Mapping[str, Any]], node: Object, *effects: str) -> bool:
    """True if all of a node's taints with one of the effects are tolerated."""
    taints = [taint for taint in at(node, "spec", "taints") or () if taint.get("effect") in effects]
    return all(any(tolerated(each, taint) for each in tolerations) for taint in taints)


def tolerated(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """True if a toleration matches this taint."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def condition_taints(node: Object) -> set[tuple[str, str]]:
    """Key and effect of each taint for a node's conditions and for ``unschedulable``."""
    found = {(each.get("type"), each.get("status")) for each in at(node, "status", "conditions") or ()}
    keys = {key for condition, key in _TROUBLES.items() if condition in found}
    if at(node, "spec", "unschedulable"):
        keys.add(UNSCHEDULABLE)
    executing = {(key, "NoExecute") for key in keys & {NOT_READY, UNREACHABLE}}
    return {(key, "NoSchedule") for key in keys} | executing


def unknown_conditions(conditions: Sequence[Condition], created: str | None, now: str) -> list[Condition]:
    """The conditions of a node without recent reports: those of its kubelet are Unknown."""
    told = list(conditions)
    for kind in _REPORTED:
        present = find(conditions, kind)
        if present is None:
            told.append({"type": kind, **_NEVER_UPDATED, "lastHeartbeatTime": created, "lastTransitionTime": now})
        elif present.get("status") != "Unknown":
            told[told.index(present)] = {**present, **_NO_LONGER_UPDATED, "lastTransitionTime": now}
    return told


def is_condition_taint(taint: Mapping[str, Any]) -> bool:
    """True if a taint follows a node's conditions, whoever set it."""
    key, effect = taint.get("key"), taint.get("effect")
    if effect == "NoExecute":
        return key in (NOT_READY, UNREACHABLE)
    return effect == "NoSchedule" and (key == UNSCHEDULABLE or key in _TROUBLES.values())


def minimum_toleration_seconds(
    tolerations: Sequence[Mapping[str, Any]], taints: Sequence[Mapping[str, Any]]
) -> float | None:
    """The seconds for which a pod stays on a node with these taints: infinity for ever, None for not at all."""
    seconds = float("inf")
    for taint in taints:
        fitting = [each for each in tolerations if tolerated(each, taint)]
        if not fitting:
            return None
        given = [each["tolerationSeconds"] for each in fitting if each.get("tolerationSeconds") is not None]
        seconds = min([seconds, *(max(0.0, float(each)) for each in given)])
    return seconds
