"""Affinity and anti-affinity between pods.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity, release 1.30.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from simkit.simulation.scheduler.affinity_term import AffinityTerm
from simkit.simulation.scheduler.node_filters import MOST
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.rejection import Filter, Rejection, rejected
from simkit.simulation.scheduler.view import View

Counts = Counter[tuple[str, str]]
"""The number of pods, by topology key and value."""


def _matches_all(terms: Sequence[AffinityTerm], pod: PodInfo) -> bool:
    return bool(terms) and all(term.matches(pod.labels, pod.namespace, None) for term in terms)


def _add(counts: Counts, terms: Iterable[AffinityTerm], info: NodeInfo) -> None:
    for term in terms:
        value = info.labels.get(term.topology_key)
        if value is not None:
            counts[term.topology_key, value] += 1


def _refusing(pod: PodInfo, view: View) -> Counts:
    """The topologies in which pods are that want nothing to do with this one."""
    counts: Counts = Counter()
    labels = view.namespaces.get(pod.namespace) if view.cache.with_terms else None
    for other, info in view.cache.with_terms.values():
        own = (term for term in other.terms.anti_affinity if term.matches(pod.labels, pod.namespace, labels))
        _add(counts, own, info)
    return counts


def inter_pod_affinity(pod: PodInfo, view: View) -> Filter | None:
    """Nodes whose topologies have the pods that are wanted, and none that are not."""
    refusing = _refusing(pod, view)
    terms = pod.terms.resolved(view.namespaces) if pod.terms else pod.terms
    if not refusing and not terms.affinity and not terms.anti_affinity:
        return None
    wanted: Counts = Counter()
    unwanted: Counts = Counter()
    if terms.affinity or terms.anti_affinity:
        for other, info in view.cache.pods():
            if _matches_all(terms.affinity, other):
                _add(wanted, terms.affinity, info)
            _add(unwanted, (term for term in terms.anti_affinity if _matches_all((term,), other)), info)
    first = not wanted and _matches_all(terms.affinity, pod)

    def check(info: NodeInfo) -> Rejection | None:
        if not _has_all(terms.affinity, wanted, info, first=first):
            return rejected("node(s) didn't match pod affinity rules", resolvable=False)
        if any(unwanted[term.topology_key, info.labels.get(term.topology_key, "")] for term in terms.anti_affinity):
            return rejected("node(s) didn't match pod anti-affinity rules")
        if refusing and any(refusing[pair] for pair in info.labels.items()):
            return rejected("node(s) didn't satisfy existing pods anti-affinity rules")
        return None

    return check


def _has_all(terms: Sequence[AffinityTerm], wanted: Counts, info: NodeInfo, *, first: bool) -> bool:
    """True if a node's topologies have what each term wants; the first pod of its kind may be without its like."""
    if any(term.topology_key not in info.labels for term in terms):
        return False
    return first or all(wanted[term.topology_key, info.labels[term.topology_key]] > 0 for term in terms)


def affinity_score(
    pod: PodInfo, view: View, nodes: Sequence[NodeInfo], *, hard_weight: int = 1, ignores_theirs: bool = False
) -> list[int] | None:
    """More for nodes whose topologies have pods that are preferred, or that prefer this one.

    ``hard_weight`` is the weight of what existing pods require. ``ignores_theirs`` leaves out what they prefer, if this
    pod prefers nothing.
    """
    terms = pod.terms.resolved(view.namespaces) if pod.terms else pod.terms
    own = [*((term, 1) for term in terms.preferred), *((term, -1) for term in terms.avoided)]
    if ignores_theirs and not own:
        return None
    others = view.cache.pods() if own else view.cache.with_terms.values()
    weights: Counter[tuple[str, str]] = Counter()
    labels = view.namespaces.get(pod.namespace) if view.cache.with_terms else None
    for other, info in others:
        for term, sign in own:
            if term.matches(other.labels, other.namespace, None):
                _weigh(weights, term, sign * term.weight, info)
        if other.terms:
            _weigh_theirs(weights, other, info, pod, labels, hard_weight)
    if not weights:
        return None
    raw = [sum(weights[pair] for pair in info.labels.items()) for info in nodes]
    lowest, spread = min(raw), max(raw) - min(raw)
    return [int(MOST * ((score - lowest) / spread)) if spread else 0 for score in raw]


def _weigh(weights: Counter[tuple[str, str]], term: AffinityTerm, weight: int, info: NodeInfo) -> None:
    value = info.labels.get(term.topology_key)
    if value is not None:
        weights[term.topology_key, value] += weight


def _weigh_theirs(
    weights: Counter[tuple[str, str]],
    other: PodInfo,
    info: NodeInfo,
    pod: PodInfo,
    labels: Mapping[str, str] | None,
    hard_weight: int,
) -> None:
    """Add the weights of an existing pod's terms for this one; all required terms count alike."""
    theirs = [(term, hard_weight) for term in other.terms.affinity]
    theirs += [(term, term.weight) for term in other.terms.preferred]
    theirs += [(term, -term.weight) for term in other.terms.avoided]
    for term, weight in theirs:
        if term.matches(pod.labels, pod.namespace, labels):
            _weigh(weights, term, weight, info)
