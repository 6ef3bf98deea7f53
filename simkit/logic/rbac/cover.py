"""Coverage of rules by rules: users may not grant more than they have.

k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go and pkg/registry/rbac/validation, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from simkit.logic.rbac.rule import ALL, Rule, path_covers
from simkit.meta.deadline import check_deadline

EVERYTHING: Final = (
    Rule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    Rule(verbs=(ALL,), paths=(ALL,)),
)
"""The rules of a cluster administrator, needed to write an aggregation rule."""
_LOOK: Final = 1000
"""Parts of rules between two looks at the deadline of a request."""


def covers(owned: Sequence[Rule], wanted: Iterable[Rule]) -> bool:
    """True if the owned rules allow everything that the wanted ones allow.

    Examples
    --------
    >>> pods = Rule(("get", "list"), ("",), ("pods", "pods/log"))
    >>> covers([pods], [Rule(("get",), ("",), ("pods/log",))]), covers([pods], [Rule(("*",), ("",), ("pods",))])
    (True, False)
    """
    return all(any(_covers_piece(own, piece) for own in owned) for rule in wanted for piece in breakdown(rule))


def uncovered(owned: Sequence[Rule], wanted: Iterable[Rule], most: int | None = None) -> list[Rule]:
    """The parts of the wanted rules that the owned ones do not cover, at most so many: one rule per verb, group,
    resource and name, or path.

    Rules are compared piece by piece: two owned rules which only together make up a wildcard do not cover it. A rule
    has as many parts as the product of the lengths of its lists: what one owned rule covers as a whole is not taken
    apart. Ends at the request's deadline.
    """
    missing: list[Rule] = []
    for rule in wanted:
        if any(_covers_whole(own, rule) for own in owned):
            continue
        for number, piece in enumerate(breakdown(rule)):
            if number % _LOOK == 0:
                check_deadline()
            if any(_covers_piece(own, piece) for own in owned):
                continue
            missing.append(piece)
            if len(missing) == most:
                return missing
    return missing


def breakdown(rule: Rule) -> Iterator[Rule]:
    """The rule split into rules of one verb on one resource of one group (and of one name), or on one path."""
    names: tuple[tuple[str, ...], ...] = tuple((name,) for name in dict.fromkeys(rule.resource_names)) or ((),)
    verbs = tuple(dict.fromkeys(rule.verbs))  # what a list repeats would count in each product
    for group, resource, verb in product(dict.fromkeys(rule.api_groups), dict.fromkeys(rule.resources), verbs):
        yield from (Rule((verb,), (group,), (resource,), name) for name in names)
    for path, verb in product(dict.fromkeys(rule.paths), verbs):
        yield Rule(verbs=(verb,), paths=(path,))


def count_of_pieces(rule: Rule) -> int:
    """The number of rules into which ``breakdown`` splits a rule.

    Examples
    --------
    >>> count_of_pieces(Rule(("get", "get", "list"), ("",), ("pods", "secrets"), ("a", "b", "c")))
    12
    """
    names, verbs = max(1, len({*rule.resource_names})), len({*rule.verbs})
    return len({*rule.api_groups}) * len({*rule.resources}) * verbs * names + len({*rule.paths}) * verbs


def compact_rules(rules: Iterable[Rule]) -> list[Rule]:
    """The rules merged if they differ only in their verbs.

    Only rules about one resource of one group, and at most one name, take part, as in kube-apiserver.
    """
    simple: dict[Rule, Rule] = {}
    others: list[Rule] = []
    for rule in rules:
        if len(rule.api_groups) != 1 or len(rule.resources) != 1 or len(rule.resource_names) > 1 or rule.paths:
            others.append(rule)
            continue
        place = rule._replace(verbs=())
        found = simple.get(place)
        simple[place] = rule._replace(verbs=(*found.verbs, *rule.verbs)) if found else rule
    return [*others, *simple.values()]


def missing_rules_text(missing: Iterable[Rule]) -> str:
    """The missing rules as in the 403: compacted, one per line, sorted, distinct."""
    return "\n".join(sorted({str(rule) for rule in compact_rules(missing)}))


def _covers_whole(own: Rule, rule: Rule) -> bool:
    """True if each part of a rule about resources is covered by one owned rule."""
    if own is rule:
        return True
    if rule.paths or (
        own.resource_names and not (rule.resource_names and _within(rule.resource_names, own.resource_names))
    ):
        return False
    if not (ALL in own.verbs or _within(rule.verbs, own.verbs)):
        return False
    if not (ALL in own.api_groups or _within(rule.api_groups, own.api_groups)):
        return False
    return ALL in own.resources or _within(rule.resources, own.resources)


def _within(some: Iterable[str], others: Iterable[str]) -> bool:
    return set(some) <= set(others)


def _covers_piece(own: Rule, piece: Rule) -> bool:
    if own.resource_names and not (piece.resource_names and piece.resource_names[0] in own.resource_names):
        return False
    if ALL not in own.verbs and piece.verbs[0] not in own.verbs:
        return False
    if piece.paths:
        return any(path_covers(pattern, piece.paths[0]) for pattern in own.paths)
    if ALL not in own.api_groups and piece.api_groups[0] not in own.api_groups:
        return False
    return _covers_resource(own, piece.resources[0])


def _covers_resource(own: Rule, resource: str) -> bool:
    if ALL in own.resources or resource in own.resources:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in own.resources
