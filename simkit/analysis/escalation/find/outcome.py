"""The type of outcomes, and the choice among several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE
from simkit.analysis.escalation.find.matching import Holder, VariantMatch
from simkit.analysis.escalation.find.states import AttackState

Variables = dict[str, str]
Reached = Iterator[tuple[AttackState, Variables]]
Outcome = Callable[[ClusterFacts, Holder, VariantMatch, Variables], Reached]


def any_of(
    facts: ClusterFacts, match: VariantMatch, title: str, members: Callable[[], Reached], *labels: str
) -> Reached:
    """One set if the choice is the same in all namespaces; else each member by itself.

    So the graph stays linear in grants: a holder has one edge, however many things there are.
    """
    if match.namespace != EVERYWHERE or not match.alike(*labels):
        yield from members()
        return
    place = facts.gathered(title, members)
    if place is not None:
        yield place, {}


def named(match: VariantMatch, label: str) -> str:
    """The names for which requirements are met, as a part of a title."""
    names = match.names(label)
    return "" if names is None else f" named {', '.join(names)}"


def namespaces_of_match(facts: ClusterFacts, match: VariantMatch) -> tuple[str, ...]:
    return tuple(facts.enforced) if match.namespace == EVERYWHERE else (match.namespace,)
