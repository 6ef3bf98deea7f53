"""Plugins that look at pods of other nodes: affinity between pods, and their spread over topologies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Final

from simkit.logic.workloads.nodes import fits, tolerates
from simkit.meta.domain import label
from simkit.meta.labels import LabelSelector, Requirement, of_object
from simkit.meta.objects import at
from simkit.simulation.scheduler.node_filters import MOST
from simkit.simulation.scheduler.node_info import AffinityTerm, NodeInfo, PodInfo
from simkit.simulation.scheduler.view import Filter, Rejection, View, rejected

# Affinity and anti-affinity between pods.
# Upstream: pkg/scheduler/framework/plugins/interpodaffinity, release 1.30.

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


def affinity_score(pod: PodInfo, view: View, nodes: Sequence[NodeInfo]) -> list[int] | None:
    """More for nodes whose topologies have pods that are preferred, or that prefer this one."""
    terms = pod.terms.resolved(view.namespaces) if pod.terms else pod.terms
    own = [*((term, 1) for term in terms.preferred), *((term, -1) for term in terms.avoided)]
    others = view.cache.pods() if own else view.cache.with_terms.values()
    weights: Counter[tuple[str, str]] = Counter()
    labels = view.namespaces.get(pod.namespace) if view.cache.with_terms else None
    for other, info in others:
        for term, sign in own:
            if term.matches(other.labels, other.namespace, None):
                _weigh(weights, term, sign * term.weight, info)
        if other.terms:
            _weigh_theirs(weights, other, info, pod, labels)
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
) -> None:
    """Add the weights of an existing pod's terms for this one; required terms count one each."""
    theirs = [(term, 1) for term in other.terms.affinity]
    theirs += [(term, term.weight) for term in other.terms.preferred]
    theirs += [(term, -term.weight) for term in other.terms.avoided]
    for term, weight in theirs:
        if term.matches(pod.labels, pod.namespace, labels):
            _weigh(weights, term, weight, info)


# Spreads pods over topologies: the constraints of a pod, and those that every pod of a service or controller has.
# Upstream: pkg/scheduler/framework/plugins/podtopologyspread, release 1.30.

HOSTNAME: Final = label("hostname")
_BY_DEFAULT: Final = ((3, HOSTNAME), (5, label("zone", "topology")))
"""Skew and topology of what holds for pods without constraints of their own, as far as possible."""
_NOT_MATCHED: Final = "node(s) didn't match pod topology spread constraints"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint, read."""

    max_skew: int
    topology_key: str
    selector: LabelSelector
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False

    def counts(self, pod: PodInfo, info: NodeInfo) -> bool:
        """True if the pods of a node count."""
        if self.honors_affinity and not _meant(pod, info):
            return False
        tolerations = at(pod.pod, "spec", "tolerations") or ()
        return not self.honors_taints or tolerates(tolerations, info.object, "NoSchedule", "NoExecute")

    def counts_everywhere(self, pod: PodInfo) -> bool:
        """True if the pods of all nodes count, whatever these are like."""
        return not self.honors_taints and not (self.honors_affinity and _chooses(pod))


def constraints_of(pod: PodInfo, action: str) -> list[Constraint]:
    """A pod's own constraints of one kind: ``DoNotSchedule`` or ``ScheduleAnyway``."""
    given: Iterable[Mapping[str, Any]] = at(pod.pod, "spec", "topologySpreadConstraints") or ()
    return [_read(pod, each) for each in given if each.get("whenUnsatisfiable") == action]


def _read(pod: PodInfo, given: Mapping[str, Any]) -> Constraint:
    keys = [key for key in given.get("matchLabelKeys") or () if key in pod.labels]
    added = tuple(Requirement(key, "in", (pod.labels[key],)) for key in keys)
    return Constraint(
        given.get("maxSkew", 1),
        given.get("topologyKey", ""),
        LabelSelector((*added, *of_object(given.get("labelSelector")).requirements)),
        given.get("minDomains") or 1,
        (given.get("nodeAffinityPolicy") or "Honor") == "Honor",
        given.get("nodeTaintsPolicy") == "Honor",
    )


def _chooses(pod: PodInfo) -> bool:
    """True if a pod says which nodes it wants."""
    return bool(at(pod.pod, "spec", "nodeSelector") or at(pod.pod, "spec", "affinity", "nodeAffinity"))


def _meant(pod: PodInfo, info: NodeInfo) -> bool:
    spec = pod.pod.get("spec") or {}
    return not _chooses(pod) or fits({**pod.pod, "spec": {**spec, "nodeName": ""}}, info.object)


def _matching(view: View, pod: PodInfo, selector: LabelSelector) -> Mapping[str, int]:
    """The number of selected pods of the same namespace on each node; an empty selector selects none."""
    return view.cache.matching(pod.namespace, selector) if selector else {}


def topology_spread(pod: PodInfo, view: View) -> Filter | None:
    """Nodes on which the pod would not make the skew too great."""
    constraints = constraints_of(pod, "DoNotSchedule")
    if not constraints:
        return None
    domains = _domains(pod, view, constraints)
    missing = rejected(f"{_NOT_MATCHED} (missing required label)", resolvable=False)
    skewed = rejected(_NOT_MATCHED)
    known = [
        (each, int(each.selector.matches(pod.labels)), domains[index], _floor(each, domains[index]))
        for index, each in enumerate(constraints)
    ]

    def check(info: NodeInfo) -> Rejection | None:
        for each, itself, counts, floor in known:
            value = info.labels.get(each.topology_key)
            if value is None:
                return missing
            if counts.get(value, 0) + itself - floor > each.max_skew:
                return skewed
        return None

    return check


def _floor(constraint: Constraint, counts: Mapping[str, int]) -> int:
    return 0 if len(counts) < constraint.min_domains else min(counts.values(), default=2**31 - 1)


def _domains(pod: PodInfo, view: View, constraints: Sequence[Constraint]) -> list[dict[str, int]]:
    """The number of pods in each domain of each constraint; constraints of one topology count together."""
    by_key: dict[str, dict[str, int]] = {each.topology_key: {} for each in constraints}
    counted = [_matching(view, pod, each.selector) for each in constraints]
    for info in view.cache.nodes():
        if not by_key.keys() <= info.labels.keys():
            continue
        own: dict[str, int] = {}
        for each, by_node in zip(constraints, counted, strict=True):
            if each.counts(pod, info):
                own[each.topology_key] = by_node.get(info.name, 0)
        for key, number in own.items():
            counts, value = by_key[key], info.labels[key]
            counts[value] = counts.get(value, 0) + number
    return [by_key[each.topology_key] for each in constraints]


def spread_score(pod: PodInfo, view: View, nodes: Sequence[NodeInfo]) -> list[int] | None:
    """More for nodes whose topologies have fewer of the pod's like."""
    own = bool(at(pod.pod, "spec", "topologySpreadConstraints"))
    constraints = constraints_of(pod, "ScheduleAnyway") if own else _default(pod, view)
    if not constraints:
        return None
    keys = {each.topology_key for each in constraints}
    ignored = {info.name for info in nodes if own and not keys <= info.labels.keys()}
    scored = [info for info in nodes if info.name not in ignored]
    parts = [_Part.of(pod, view, each, scored, keys if own else frozenset()) for each in constraints]
    sums = reduce(lambda some, more: list(map(add, some, more)), (part.scores(scored) for part in parts))
    raw = [math.floor(each + 0.5) for each in sums]
    highest, lowest = max(raw, default=0), min(raw, default=0)
    found = [MOST * (highest + lowest - each) // highest for each in raw] if highest else [MOST] * len(raw)
    if not ignored:
        return found
    told = iter(found)
    return [0 if info.name in ignored else next(told) for info in nodes]


def _default(pod: PodInfo, view: View) -> list[Constraint]:
    selector = view.default_selector(pod)
    return [Constraint(skew, key, selector) for skew, key in _BY_DEFAULT] if selector else []


@dataclass(slots=True)
class _Part:
    """The part of one constraint in the score of a node."""

    constraint: Constraint
    by_node: Mapping[str, int]
    by_domain: Mapping[str, int]
    weight: float

    @classmethod
    def of(
        cls, pod: PodInfo, view: View, constraint: Constraint, scored: Sequence[NodeInfo], required: Iterable[str]
    ) -> _Part:
        by_node, key = _matching(view, pod, constraint.selector), constraint.topology_key
        if key == HOSTNAME:
            return cls(constraint, by_node, {}, math.log(len(scored) + 2))
        counts, needed = {info.labels.get(key, ""): 0 for info in scored}, set(required)
        everywhere = not needed and constraint.counts_everywhere(pod)
        for name, number in by_node.items():
            info = view.cache.node(name)
            if info is None:
                continue
            if not everywhere and not (needed <= info.labels.keys() and constraint.counts(pod, info)):
                continue
            value = info.labels.get(key, "")
            if value in counts:
                counts[value] += number
        return cls(constraint, by_node, counts, math.log(len(counts) + 2))

    def scores(self, nodes: Sequence[NodeInfo]) -> list[float]:
        """The part of each node."""
        key, weight, base = self.constraint.topology_key, self.weight, self.constraint.max_skew - 1
        if key == HOSTNAME:
            count = self.by_node.get
            return [count(info.name, 0) * weight + base if key in info.labels else 0.0 for info in nodes]
        known: dict[str | None, float] = {value: count * weight + base for value, count in self.by_domain.items()}
        known[None] = 0.0
        return [known[info.labels.get(key)] for info in nodes]
