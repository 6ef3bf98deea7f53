"""The score for nodes on which requests for devices are met by earlier alternatives.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (``computeScore``), release 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from simkit.meta.objects import Object, at
from simkit.simulation.scheduler.devices.dynamic_resources import chosen_requests, claims_of_pod
from simkit.simulation.scheduler.node_filters import normalized
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.view import View

_MOST: Final = 8
"""The alternatives that a request may have; the first one gives as many points, each later one a point less."""


def alternatives_score(pod: PodInfo, view: View, nodes: Sequence[NodeInfo]) -> list[int] | None:
    """More for nodes with earlier alternatives; None for a pod without any."""
    if not view.behaviour.applies("scheduler-scores-alternatives") or not view.behaviour.applies(
        "scheduler-tries-first-available"
    ):
        return None
    claims = claims_of_pod(pod, view)
    if not any(request.get("firstAvailable") for claim in claims for request in _requests(claim)):
        return None
    waiting = [each for each in claims if at(each, "status", "allocation") is None]
    held = sum(_points(each, _allocated(each)) for each in claims if each not in waiting)
    return normalized([held + _on(waiting, view, info) for info in nodes])


def _on(waiting: Sequence[Object], view: View, info: NodeInfo) -> int:
    chosen = chosen_requests(waiting, view, info) if waiting else ()
    return sum(_points(claim, names) for claim, names in zip(waiting, chosen or (), strict=False))


def _requests(claim: Object) -> Sequence[Object]:
    found: Sequence[Object] = at(claim, "spec", "devices", "requests") or ()
    return found


def _allocated(claim: Object) -> set[str]:
    return {str(each.get("request")) for each in at(claim, "status", "allocation", "devices", "results") or ()}


def _points(claim: Object, chosen: Collection[str]) -> int:
    """The points for the alternatives of a claim that were chosen, by their names after those of their requests."""
    return sum(
        _MOST - place
        for request in _requests(claim)
        for place, each in enumerate(request.get("firstAvailable") or ())
        if f"{request.get('name')}/{each.get('name')}" in chosen
    )
