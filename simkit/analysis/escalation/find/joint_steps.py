"""Steps that need permissions of several identities of an attacker: its own, and those that it has gained on the way.

Who may create secrets, and reaches a service account that may read them, gets the token of any service account. No
edge from one state shows that: the way to the other identity is repeated as states ``beside`` the first one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import dropwhile, product
from typing import TYPE_CHECKING, Final, NamedTuple

from simkit.analysis.escalation.find.held_permissions import common_namespaces, meet_requirement
from simkit.analysis.escalation.find.matching import Edge, Holder, VariantMatch
from simkit.analysis.escalation.find.states import CLUSTER_ADMIN, IMPACT, SUBJECTS, AttackState
from simkit.analysis.escalation.table.primitive import Primitive, primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission, Requirement

if TYPE_CHECKING:
    from simkit.analysis.escalation.find.graph import EscalationGraph

EdgesOf = dict[AttackState, tuple[Edge, ...]]
OF_BINDINGS: Final = ("bound-to-role", "gathered-for-oneself", "orphan-cluster-role", "orphan-role")
"""The conditions on what else is bound to an attacker."""
EVERYTHING: Final = 1
"""The bit of those who get everything anyway."""


class JointVariant(NamedTuple):
    """A variant whose requests several identities may make."""

    primitive: Primitive
    number: int
    requests: tuple[tuple[Requirement, ...], ...]
    """The requirements of each request; none for the identity that something is bound to."""
    first: int
    """The bit of the first request."""

    @property
    def bits(self) -> int:
        return (1 << len(self.requests)) * self.first - self.first


@cache
def joint_variants(release: str) -> tuple[JointVariant, ...]:
    """The variants that give access and take several requests, or one and a binding of somebody else."""
    found: list[JointVariant] = []
    bit = EVERYTHING << 1
    for one in primitives().primitives:
        usable = one.kind in ("escalation", "sharing", "deputy") and not one.special_case and one.holds_in(release)
        for number, variant in enumerate(one.variants if usable else ()):
            needs: dict[int, tuple[Requirement, ...]] = {}
            for requirement in requirements_of(one.id, number, release):
                needs[requirement.request] = (*needs.get(requirement.request, ()), requirement)
            requests = (*needs.values(), *(((),) if variant.condition.removesuffix("-by-name") in OF_BINDINGS else ()))
            if len(requests) > 1 and variant.outcome != IMPACT:
                found.append(JointVariant(one, number, requests, bit))
                bit <<= len(requests)
    return tuple(found)


@lru_cache(maxsize=4096)
def parts_of(held: frozenset[Permission], release: str) -> int:
    """The requests of joint variants that whoever has some permissions may make somewhere, as bits."""
    found = 0
    for variant in joint_variants(release):
        for place, needs in enumerate(variant.requests):
            if all(any(one.permission in held for one in need.any_of) for need in needs):
                found |= variant.first << place
    return found


def add_joint_steps(graph: EscalationGraph, found: EdgesOf, parts: Mapping[AttackState, int]) -> bool:
    """Add the joint steps of each identity to the states that are reached; true if there are any.

    Notes
    -----
    O(edges), and for those who together may make all requests of a variant O(what they reach).
    """
    together = {state: parts.get(state._replace(impersonated=False), 0) for state in found}
    together[CLUSTER_ADMIN] = EVERYTHING
    backward: dict[AttackState, list[AttackState]] = defaultdict(list)
    for state, edges in found.items():
        for edge in edges:
            backward[edge.target].append(state)
    waiting = [state for state, bits in together.items() if bits]
    while waiting:
        state = waiting.pop()
        for source in backward[state]:
            if together[state] & ~together[source]:
                together[source] |= together[state]
                waiting.append(source)
    known = len(found)
    for state in tuple(found):
        if state.kind in SUBJECTS and not state.beside and not together[state] & EVERYTHING:
            variants = [one for one in joint_variants(graph.release) if not one.bits & ~together[state]]
            if variants:
                _add(graph, found, state, variants)
    return len(found) > known


def _add(graph: EscalationGraph, found: EdgesOf, start: AttackState, variants: Iterable[JointVariant]) -> None:
    """Add the joint steps of one identity that lead to states which it does not reach otherwise."""
    ways: dict[AttackState, tuple[Edge, ...]] = {start: ()}
    for state in (waiting := [start]):
        for edge in found.get(state, ()):
            if edge.target not in ways:
                ways[edge.target] = (*ways[state], edge)
                waiting.append(edge.target)
    holders = [one for state in ways if not state.beside and (one := graph.holder(state)) is not None]
    for variant in variants:
        for own, match in _matches(variant, holders):
            principals = frozenset(one for holder in own for one in holder.principals)
            joint = Holder(own[0].state, {}, principals, tuple(one for holder in own for one in holder.bound))
            for edge in graph.uses.leading(joint, match):
                if edge.target not in ways:
                    ways[edge.target] = ()
                    _lead(found, start, [ways[one.state] for one in own], edge)


def _matches(variant: JointVariant, holders: Sequence[Holder]) -> Iterator[tuple[tuple[Holder, ...], VariantMatch]]:
    """The matches for which at least two holders are needed, with the holder of each request."""
    options = []
    for needs in variant.requests:
        able = [(holder, [meet_requirement(need, holder.held) for need in needs]) for holder in holders]
        options.append([(holder, met) for holder, met in able if all(met)])
    for chosen in product(*options):
        own = tuple(holder for holder, _ in chosen)
        if len({holder.state for holder in own}) > 1:
            every = tuple(one for _, met in chosen for one in met if one is not None)
            for namespace in common_namespaces(every):
                yield own, VariantMatch(variant.primitive, variant.number, namespace, every)


def _lead(found: EdgesOf, start: AttackState, ways: Iterable[tuple[Edge, ...]], last: Edge) -> None:
    """Add a joint step behind the ways to the identities that it needs, which pass states of their own."""
    before = [edge for way in dict.fromkeys(ways) for edge in dropwhile(lambda one: not one.primitive, way)]
    beside = f"{start}: {', '.join(str(edge.target) for edge in (*before, last))}"
    state = start
    for edge in (*before, last):
        target = edge.target if edge is last else edge.target._replace(beside=beside)
        found[state] = (*found.get(state, ()), edge._replace(source=state, target=target))
        state = target
