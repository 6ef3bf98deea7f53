"""Pods that would have to go so that a more important one finds room.

Upstream: pkg/scheduler/framework/preemption and plugins/defaultpreemption and
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from simkit.logic.workloads.status_conditions import guarding
from simkit.meta.objects import at, name_of
from simkit.simulation.scheduler.algorithm import FILTERS, Nominated, first_rejection, prepared
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.view import Rejection, Unschedulable, View, fit_message, rejected

# A node for a pod that preempts others, with those that would have to leave it


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node, and the pods that would leave it."""

    info: NodeInfo
    victims: tuple[PodInfo, ...]
    violations: int
    """The number of victims that a disruption budget would keep."""


_NOT_HELPFUL: Final = rejected("Preemption is not helpful for scheduling", resolvable=False)
_NO_VICTIMS: Final = rejected("No preemption victims found for incoming pod", resolvable=False)
_LEAST_CANDIDATES: Final = 100
_PERCENT_OF_CANDIDATES: Final = 10
_ABOVE_ALL: Final = 2**31


def ineligible(pod: PodInfo, view: View, rejections: Mapping[str, Rejection]) -> str:
    """The reason why a pod may not preempt others; empty where it may."""
    if at(pod.pod, "spec", "preemptionPolicy") == "Never":
        return "not eligible due to preemptionPolicy=Never."
    name = at(pod.pod, "status", "nominatedNodeName")
    info = view.cache.node(name) if name else None
    if info is None or (name in rejections and not rejections[name].resolvable):
        return ""
    if any(each.terminating and each.priority < pod.priority for each in info.pods.values()):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


def candidates(
    pod: PodInfo,
    view: View,
    rejections: Mapping[str, Rejection],
    nominated: Nominated,
    start: int,
) -> tuple[list[Candidate], str]:
    """Nodes with the pods that would have to leave them, and where there are none the sentence that says why."""
    nodes = view.cache.nodes()
    hopeful = [info for info in nodes if info.name in rejections and rejections[info.name].resolvable]
    told = {info.name: _NOT_HELPFUL for info in nodes if info.name not in {each.name for each in hopeful}}
    enough = min(len(hopeful), max(_LEAST_CANDIDATES, len(hopeful) * _PERCENT_OF_CANDIDATES // 100))
    found: list[Candidate] = []
    for number in range(len(hopeful)):
        info = hopeful[(start + number) % len(hopeful)]
        result = victims_on(pod, view, info, nominated)
        if isinstance(result, Candidate):
            found.append(result)
            if len(found) >= enough and any(not each.violations for each in found):
                break
        else:
            told[info.name] = result
    return found, "" if found else fit_message(len(told), told.values())


def victims_on(pod: PodInfo, view: View, info: NodeInfo, nominated: Nominated) -> Candidate | Rejection:
    """The fewest and least important pods that have to leave a node for a pod, or why that is of no use."""
    lower = [each for each in info.pods.values() if each.priority < pod.priority]
    if not lower:
        return _NO_VICTIMS
    others = [each for each in nominated.get(info.name, ()) if each.priority >= pod.priority and each.key != pod.key]
    for each in lower:
        view.cache.displace(each, info)
    for each in others:
        view.cache.place(each, info)
    gone: list[PodInfo] = list(lower)
    try:
        rejection = _rejection(pod, view, info)
        if rejection is not None:
            return rejection
        ranked = sorted(lower, key=_importance)
        violating = _violating(view, ranked)
        victims, violations = [], 0
        for each in [*violating, *(other for other in ranked if other not in violating)]:
            view.cache.place(each, info)
            gone.remove(each)
            if _rejection(pod, view, info) is not None:
                view.cache.displace(each, info)
                gone.append(each)
                victims.append(each)
                violations += each in violating
        return Candidate(info, tuple(sorted(victims, key=_importance)), violations)
    finally:
        for each in others:
            view.cache.displace(each, info)
        for each in gone:
            view.cache.place(each, info)


def _rejection(pod: PodInfo, view: View, info: NodeInfo) -> Rejection | None:
    try:
        return first_rejection(prepared(pod, view, FILTERS), info)
    except Unschedulable as error:
        return rejected(str(error), resolvable=False)


def _importance(pod: PodInfo) -> tuple[int, float]:
    """The most important first: by priority, then who started earlier."""
    return -pod.priority, pod.started


def _violating(view: View, ranked: Sequence[PodInfo]) -> list[PodInfo]:
    """The pods that budgets would keep if those before them went."""
    left: dict[tuple[str, str], int] = {}
    found = []
    for each in ranked:
        kept = False
        for budget in guarding(view.budgets(each.namespace), each.pod) if each.labels else ():
            if each.name in (at(budget, "status", "disruptedPods") or {}):
                continue
            key = (each.namespace, name_of(budget))
            left.setdefault(key, at(budget, "status", "disruptionsAllowed") or 0)
            left[key] -= 1
            kept = kept or left[key] < 0
        if kept:
            found.append(each)
    return found


def chosen(found: Sequence[Candidate]) -> Candidate:
    """The candidate that harms least: fewest budgets, lowest priorities, fewest pods, latest starts."""

    def harm(candidate: Candidate) -> tuple[float, ...]:
        victims = candidate.victims
        highest = victims[0].priority
        earliest = min(each.started for each in victims if each.priority == highest)
        total = sum(each.priority + _ABOVE_ALL for each in victims)
        return candidate.violations, highest, total, len(victims), -earliest

    return min((each for each in found if each.victims), key=harm)
