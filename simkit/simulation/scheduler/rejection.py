"""The reasons why a node, or every node, does not fit a pod.

Upstream: pkg/scheduler/framework/types.go (``FitError``), release 1.30.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from simkit.meta.behaviour import ServedBehaviour
from simkit.simulation.scheduler.node_info import NodeInfo


class Rejection(NamedTuple):
    """The reasons of one filter."""

    reasons: tuple[str, ...]
    resolvable: bool = True
    """True if the removal of pods could help."""


NO_CLAIMS: Final = "no new claims to deallocate"
Filter = Callable[[NodeInfo], Rejection | None]
"""A filter for one pod: None if a node fits, or the rejection."""


class Unschedulable(Exception):
    """A pod that no node is for, whatever the nodes are like. The text says why, ``plugin`` may name who found it."""

    def __init__(self, text: str, *, plugin: str = "") -> None:
        super().__init__(text)
        self.plugin = plugin


class SchedulingError(Exception):
    """An attempt that failed for another reason than the nodes: the pod is tried again after a pause."""


def rejected(reason: str, *, resolvable: bool = True) -> Rejection:
    """A rejection for one reason."""
    return Rejection((reason,), resolvable)


def fit_message(nodes: int, rejections: Iterable[Rejection], *, before: str = "", after: str = "") -> str:
    """The sentence of kube-scheduler about a pod that fits nowhere.

    Examples
    --------
    >>> fit_message(3, [rejected("Too many pods"), rejected("Insufficient cpu"), rejected("Insufficient cpu")])
    '0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu.'
    """
    text = f"0/{nodes} nodes are available:"
    if before:
        text += f" {before}."
    else:
        counted = Counter(reason for rejection in rejections for reason in rejection.reasons)
        listed = ", ".join(sorted(f"{number} {reason}" for reason, number in counted.items()))
        text += f" {listed}." if listed else ""
    return f"{text} {after}" if after else text


def not_preempted(behaviour: ServedBehaviour, why: str, *, before: str = "", claims: str = "") -> str:
    """The end of the sentence: why no pods have to go for the pod; empty where some have to.

    ``claims`` says what came of taking devices back, ``before`` what kept nodes from being looked at.

    Examples
    --------
    >>> from simkit.schema.behaviour import default_behaviour
    >>> not_preempted(default_behaviour("1.30"), "not eligible due to preemptionPolicy=Never.")
    'preemption: not eligible due to preemptionPolicy=Never.'
    """
    told = f"preemption: {why}" if why else ""
    if not behaviour.applies("scheduler-tells-of-claims"):
        return told
    if before and not claims:
        return "not found"  # the plugin for claims of devices misses what it would have noted about the pod
    return f"{claims or NO_CLAIMS}, {told}" if told else ""
