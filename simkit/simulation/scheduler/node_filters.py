"""Filters and scores that look at one node alone: its name, labels, taints, ports and resources.

Upstream: pkg/scheduler/framework/plugins/{nodeunschedulable,nodename,tainttoleration,nodeaffinity,nodeports,
noderesources}, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.logic.workloads.nodes import UNSCHEDULABLE, fits, term_fits, tolerated
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import at
from simkit.simulation.scheduler.node_info import CPU, MEMORY, STORAGE, HostPort, NodeInfo, PodInfo
from simkit.simulation.scheduler.view import NO_DEVICES, Filter, Rejection, Unschedulable, View, rejected

MOST: Final = 100
"""The best score of a plugin."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_ALL_ADDRESSES: Final = "0.0.0.0"  # noqa: S104 - the address of a pod's port
Tolerations = Sequence[Mapping[str, Any]]


def _tolerations(pod: PodInfo) -> Tolerations:
    return at(pod.pod, "spec", "tolerations") or ()


def node_unschedulable(pod: PodInfo, view: View) -> Filter | None:
    """Nodes that take no new pods, unless the pod tolerates that."""
    taint = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}
    if any(tolerated(each, taint) for each in _tolerations(pod)):
        return None
    rejection = rejected("node(s) were unschedulable", resolvable=False)
    return lambda info: rejection if info.unschedulable else None


def node_name(pod: PodInfo, view: View) -> Filter | None:
    """The node that the pod names; pods that name one are never scheduled, but analyses ask about them."""
    wanted = at(pod.pod, "spec", "nodeName")
    if not wanted:
        return None
    rejection = rejected("node(s) didn't match the requested node name", resolvable=False)
    return lambda info: rejection if info.name != wanted else None


def taint_toleration(pod: PodInfo, view: View) -> Filter | None:
    """Nodes whose taints the pod tolerates."""
    tolerations, message = _tolerations(pod), _taint_message(view.behaviour)

    def check(info: NodeInfo) -> Rejection | None:
        for taint in info.taints:
            if taint.get("effect") in ("NoSchedule", "NoExecute"):
                if any(tolerated(each, taint) for each in tolerations):
                    continue
                told = f"{{{taint.get('key', '')}: {taint.get('value') or ''}}}"
                return rejected(message.format(told), resolvable=False)
        return None

    return check


def _taint_message(behaviour: ServedBehaviour) -> str:
    if behaviour.applies("scheduler-names-no-taints"):
        return "node(s) had untolerated taint(s)"
    short = behaviour.applies("scheduler-shortens-taints")
    return "node(s) had untolerated taint {}" if short else "node(s) had taint {}, that the pod didn't tolerate"


def node_affinity(pod: PodInfo, view: View) -> Filter | None:
    """Nodes that the pod's node selector and required node affinity mean."""
    spec = pod.pod.get("spec") or {}
    if not spec.get("nodeSelector") and at(spec, "affinity", "nodeAffinity", _REQUIRED) is None:
        return None
    rejection = rejected("node(s) didn't match Pod's node affinity/selector", resolvable=False)
    return lambda info: None if fits(pod.pod, info.object) else rejection


def named_nodes(pod: PodInfo) -> frozenset[str] | None:
    """The nodes that required affinity names one by one, as that of a daemon set's pods; None: not by name."""
    terms = at(pod.pod, "spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms") or ()
    names: set[str] = set()
    for term in terms:
        fields = [
            set(each.get("values") or ())
            for each in term.get("matchFields") or ()
            if each.get("key") == "metadata.name" and each.get("operator") == "In"
        ]
        if not fields:
            return None
        names |= set.intersection(*fields)
    return frozenset(names) if terms else None


def node_ports(pod: PodInfo, view: View) -> Filter | None:
    """Nodes on which the host ports are free."""
    if not pod.ports:
        return None
    rejection = rejected("node(s) didn't have free ports for the requested pod ports")
    return lambda info: rejection if any(is_taken(port, info.ports) for port in pod.ports) else None


def is_taken(port: HostPort, used: Iterable[HostPort]) -> bool:
    """True if one of the ports in use is the same, on the same address or on all."""
    address, protocol, number = port
    for other, other_protocol, other_number in used:
        if (protocol, number) == (other_protocol, other_number) and (
            address == other or _ALL_ADDRESSES in (address, other)
        ):
            return True
    return False


def resources_fit(pod: PodInfo, view: View) -> Filter | None:
    """Nodes with room for what the pod asks for."""
    ordered = [*filter(pod.requests.__contains__, (CPU, MEMORY, STORAGE))]
    ordered += [name for name in pod.requests if name not in ordered]
    asked = [(name, pod.requests[name], f"Insufficient {name}") for name in ordered if pod.requests[name] > 0]
    knows_small = view.behaviour.applies("scheduler-knows-small-nodes")

    def check(info: NodeInfo) -> Rejection | None:
        reasons = ["Too many pods"] if len(info.pods) + 1 > info.allowed_pods else []
        small = False
        for name, value, reason in asked:
            allocatable = info.allocatable.get(name, 0)
            if value > allocatable - info.requested.get(name, 0):
                reasons.append(reason)
                small = small or value > allocatable
        return Rejection(tuple(reasons), not (small and knows_small)) if reasons else None

    return check


def resource_claims(pod: PodInfo, view: View) -> Filter | None:
    """No node for pods with resource claims. Raises Unschedulable."""
    if at(pod.pod, "spec", "resourceClaims"):
        raise Unschedulable(NO_DEVICES)
    return None


# Scores


def preferred_taints(pod: PodInfo, view: View, nodes: Sequence[NodeInfo]) -> list[int]:
    """More for nodes with fewer taints that keep pods away if possible."""
    if not any(info.avoided for info in nodes):
        return [MOST] * len(nodes)
    tolerations = [each for each in _tolerations(pod) if each.get("effect") in (None, "", "PreferNoSchedule")]
    counts = [
        sum(
            1
            for taint in info.taints
            if taint.get("effect") == "PreferNoSchedule" and not any(tolerated(each, taint) for each in tolerations)
        )
        for info in nodes
    ]
    return normalized(counts, reverse=True)


def preferred_affinity(pod: PodInfo, view: View, nodes: Sequence[NodeInfo]) -> list[int] | None:
    """More for nodes that more of the preferred node affinity means."""
    terms = at(pod.pod, "spec", "affinity", "nodeAffinity", _PREFERRED)
    if not terms:
        return None
    return normalized(
        [
            sum(each.get("weight", 0) for each in terms if term_fits(each.get("preference") or {}, info.object))
            for info in nodes
        ]
    )


def normalized(scores: Sequence[int], *, reverse: bool = False) -> list[int]:
    """Scores from 0 to 100 in proportion to the highest."""
    highest = max(scores, default=0)
    if highest == 0:
        return [MOST if reverse else 0] * len(scores)
    found = [MOST * score // highest for score in scores]
    return [MOST - score for score in found] if reverse else found


# Scores by the CPU and memory of nodes.
# Upstream: pkg/scheduler/framework/plugins/noderesources, release 1.30.

_SCORED: Final = (CPU, MEMORY)


def _kept(score: Callable[[PodInfo, View, NodeInfo], int]) -> Callable[[PodInfo, View, Sequence[NodeInfo]], list[int]]:
    """The scores that pods with the same requests share as long as nothing changes on a node."""

    def scores(pod: PodInfo, view: View, nodes: Sequence[NodeInfo]) -> list[int]:
        key = (score, *(asked.get(name, 0) for asked in (pod.scored_requests, pod.requests) for name in _SCORED))
        found = []
        for info in nodes:
            known = info.scores.get(key)
            if known is None:
                known = info.scores[key] = score(pod, view, info)
            found.append(known)
        return found

    return scores


@_kept
def least_allocated(pod: PodInfo, view: View, info: NodeInfo) -> int:
    """More for nodes of which a smaller share is requested."""
    free = []
    for name in _SCORED:
        there = info.allocatable.get(name, 0)
        if there:
            free.append(max(0, there - info.scored[name] - pod.scored_requests.get(name, 0)) * MOST // there)
    return sum(free) // len(free) if free else 0


@_kept
def balanced_allocation(pod: PodInfo, view: View, info: NodeInfo) -> int:
    """More for nodes whose CPU and memory are used to the same degree."""
    idle = not any(pod.requests.get(name) for name in _SCORED)
    if idle and view.behaviour.applies("scheduler-balances-no-best-effort-pods"):
        return 0
    after = _balance(info, pod.requests)
    if not view.behaviour.applies("scheduler-scores-change-of-balance"):
        return after
    return MOST // 2 + int((MOST // 2 + after - _balance(info, {})) / 2)


def _balance(info: NodeInfo, more: Mapping[str, int]) -> int:
    used = [
        min(1.0, (info.requested.get(name, 0) + more.get(name, 0)) / info.allocatable[name])
        for name in _SCORED
        if info.allocatable.get(name)
    ]
    return int((1 - abs(used[0] - used[1]) / 2) * MOST) if len(used) == len(_SCORED) else MOST
