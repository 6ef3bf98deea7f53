"""A role narrowed so that what begins with it is closed: every first step of its holders, or a finding."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from simkit.analysis.escalation.cut.removal import PossibleRemovals
from simkit.analysis.escalation.cut.removal_kinds import RemovePermissions
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph
from simkit.analysis.escalation.find.search import first_steps, ways_to
from simkit.analysis.escalation.find.states import subject_state
from simkit.analysis.escalation.table.primitive import requirements_of
from simkit.analysis.escalation.table.requirement import Permission, Requirement
from simkit.analysis.escalation.table.risky_permission import RiskyPermission, requirements_of_grant
from simkit.logic.rbac.binding import Subject
from simkit.meta.names import Key

MOST: Final = 12
"""Of a role from which more permissions would have to go, its subjects are taken instead."""
Narrowing = tuple[RemovePermissions, ...]


def closing_steps(
    graph: EscalationGraph, ways: PossibleRemovals, role: Key, subjects: Iterable[Subject], goals: Sequence[Goal]
) -> Narrowing | None:
    """The permissions to take out of a role so that it gives no subject a first step towards one of some goals.

    Returns
    -------
    tuple of RemovePermissions, or None
        One for each rule; None where the role cannot be narrowed that far.
    """
    needs = dict.fromkeys(_needs(graph, role, subjects, goals))
    return _fewest(ways, role, needs)


def closing_finding(ways: PossibleRemovals, role: Key, risk: RiskyPermission, release: str) -> Narrowing | None:
    """The permissions to take out of a role so that it does not hold a risky permission any more; see
    ``closing_steps``.
    """
    every = (requirements_of_grant(grant, release) for grant in risk.grants)
    held = (needs for needs in every if all(ways.narrowings(role, one) != () for one in needs))
    return _fewest(ways, role, dict.fromkeys(held))


def permissions_text(permissions: Iterable[Permission]) -> str:
    """Permissions in words, those with the same verbs together: ``create/update pods, services, get secrets``."""
    verbs: dict[str, list[str]] = {}
    for one in permissions:
        verbs.setdefault(one.resource, []).append(one.verb)
    together: dict[str, list[str]] = {}
    for resource, some in verbs.items():
        together.setdefault("/".join(some), []).append(resource)
    return ", ".join(f"{words} {', '.join(resources)}" for words, resources in together.items())


def _needs(
    graph: EscalationGraph, role: Key, subjects: Iterable[Subject], goals: Sequence[Goal]
) -> Iterator[tuple[Requirement, ...]]:
    """The requirements that a role meets for each first step; one of them has to be unmet."""
    reached = [ways_to(graph, goal) for goal in goals]
    for subject in subjects:
        for edges in first_steps(graph, subject_state(subject)):
            edge = edges[-1]
            if edge.granted_by and any(edge.target in found for found in reached):
                needs = requirements_of(edge.primitive, edge.number, graph.release)
                met = [need for need, some in zip(needs, edge.granted_by) if any(one.role == role for one in some)]
                if met:
                    yield tuple(met)


def _fewest(ways: PossibleRemovals, role: Key, wanted: Iterable[tuple[Requirement, ...]]) -> Narrowing | None:
    """Narrowings that leave one of the requirements unmet in each case: what serves most cases first."""
    open_cases: list[frozenset[Narrowing]] = []
    for needs in wanted:
        options = frozenset(found for one in needs for found in (ways.narrowings(role, one),) if found)
        if not options:
            return None
        open_cases.append(options)
    taken: dict[int, dict[Permission, None]] = defaultdict(dict)
    while open_cases:
        counts = Counter(option for case in open_cases for option in case)
        best = min(counts, key=lambda one: (-counts[one], sum(map(ways.cost, one)), str(one)))
        for one in best:
            taken[one.rule].update(dict.fromkeys(one.permissions))
        open_cases = [case for case in open_cases if not any(_covered(option, taken) for option in case)]
    if not taken or sum(map(len, taken.values())) > MOST:
        return None
    return tuple(RemovePermissions(role, number, tuple(taken[number])) for number in sorted(taken))


def _covered(option: Narrowing, taken: dict[int, dict[Permission, None]]) -> bool:
    return all(permission in taken.get(one.rule, ()) for one in option for permission in one.permissions)
