"""Scores by the resources of nodes, as arguments of a profile want them.

Upstream: pkg/scheduler/framework/plugins/noderesources and pkg/scheduler/framework/plugins/helper/shape_score.go,
release 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from simkit.meta.behaviour import applies
from simkit.simulation.scheduler.node_filters import MOST
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.resource_amounts import CPU, MEMORY, STORAGE
from simkit.simulation.scheduler.view import View

Amounts = tuple[int, int, int]
"""The weight of a resource, and what is requested and allocatable of it."""
Scores = Callable[[PodInfo, View, Sequence[NodeInfo]], list[int]]
_SCALE: Final = 10
"""The best score of a shape is 10."""


def fit_score(strategy: Mapping[str, Any]) -> Scores:
    """The score of NodeResourcesFit with a scoring strategy."""
    resources = [(each["name"], each["weight"]) for each in strategy["resources"]]
    score = _STRATEGIES[strategy["type"]](strategy)

    def scores(pod: PodInfo, view: View, nodes: Sequence[NodeInfo]) -> list[int]:
        return [score(_amounts(info, pod, resources)) for info in nodes]

    return scores


def _amounts(info: NodeInfo, pod: PodInfo, resources: Sequence[tuple[str, int]]) -> list[Amounts]:
    found = []
    for name, weight in resources:
        asked, there = pod.scored_requests.get(name, 0), info.allocatable.get(name, 0)
        if not there or (not asked and name not in (CPU, MEMORY, STORAGE)):
            continue
        used = info.scored[name] if name in (CPU, MEMORY) else info.requested.get(name, 0)
        found.append((weight, used + asked, there))
    return found


def _mean(amounts: Sequence[Amounts], score: Callable[[int, int], int]) -> int:
    total = sum(weight for weight, _, _ in amounts)
    return sum(weight * score(asked, there) for weight, asked, there in amounts) // total if total else 0


def _least(strategy: Mapping[str, Any]) -> Callable[[Sequence[Amounts]], int]:
    return lambda amounts: _mean(amounts, lambda asked, there: max(0, there - asked) * MOST // there)


def _most(strategy: Mapping[str, Any]) -> Callable[[Sequence[Amounts]], int]:
    return lambda amounts: _mean(amounts, lambda asked, there: min(asked, there) * MOST // there)


def _ratio(strategy: Mapping[str, Any]) -> Callable[[Sequence[Amounts]], int]:
    points = strategy["requestedToCapacityRatio"]["shape"]
    shape = [(each.get("utilization") or 0, (each.get("score") or 0) * _SCALE) for each in points]

    def score(amounts: Sequence[Amounts]) -> int:
        known = [
            (weight, along(shape, MOST if asked > there else asked * MOST // there)) for weight, asked, there in amounts
        ]
        counted = [(weight, value) for weight, value in known if value > 0]
        total = sum(weight for weight, _ in counted)
        return math.floor(sum(weight * value for weight, value in counted) / total + 0.5) if total else 0

    return score


def along(shape: Sequence[tuple[int, int]], use: int) -> int:
    """The value of a line through points at some use, cut to a whole number as Go does.

    Examples
    --------
    >>> [along([(0, 0), (50, 100), (100, 10)], use) for use in (0, 25, 75, 100)]
    [0, 50, 55, 10]
    """
    if use <= shape[0][0]:
        return shape[0][1]
    for (left, low), (right, high) in pairwise(shape):
        if use <= right:
            return low + int((high - low) * (use - left) / (right - left))
    return shape[-1][1]


_STRATEGIES: Final[Mapping[str, Callable[[Mapping[str, Any]], Callable[[Sequence[Amounts]], int]]]] = {
    "LeastAllocated": _least,
    "MostAllocated": _most,
    "RequestedToCapacityRatio": _ratio,
}


def balance_score(resources: Sequence[Mapping[str, Any]]) -> Scores:
    """The score of NodeResourcesBalancedAllocation: nodes whose resources are used to the same degree."""
    names = [each["name"] for each in resources]

    def scores(pod: PodInfo, view: View, nodes: Sequence[NodeInfo]) -> list[int]:
        idle = not any(pod.requests.get(name) for name in names)
        if idle and applies("scheduler-balances-no-best-effort-pods"):
            return [0] * len(nodes)
        return [_gain(info, pod, names) for info in nodes]

    return scores


def _gain(info: NodeInfo, pod: PodInfo, names: Sequence[str]) -> int:
    after = _balance(info, pod, names, counted=True)
    if not applies("scheduler-scores-change-of-balance"):
        return after
    return MOST // 2 + int((MOST // 2 + after - _balance(info, pod, names, counted=False)) / 2)


def _balance(info: NodeInfo, pod: PodInfo, names: Sequence[str], *, counted: bool) -> int:
    fractions = []
    for name in names:
        asked, there = pod.requests.get(name, 0), info.allocatable.get(name, 0)
        if there and (asked or name in (CPU, MEMORY, STORAGE)):
            fractions.append(min(1.0, (info.requested.get(name, 0) + (asked if counted else 0)) / there))
    if len(fractions) < 2:
        return MOST
    mean = sum(fractions) / len(fractions)
    deviation = math.sqrt(sum((each - mean) ** 2 for each in fractions) / len(fractions))
    if len(fractions) == 2:
        deviation = abs(fractions[0] - fractions[1]) / 2
    return int((1 - deviation) * MOST)
