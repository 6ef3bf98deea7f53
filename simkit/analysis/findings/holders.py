"""Who holds a power: the evaluation of the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from simkit.analysis.access.who_can import limits
from simkit.analysis.findings.check import Check, Finding, Severity
from simkit.analysis.findings.power import Power, Right
from simkit.analysis.findings.powers import POWERS
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.rbac.index import principals_of
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import normalize_subject
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER, Grant, Subject
from simkit.logic.rbac.match import resource_matches
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import ALL
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.identity import MASTERS
from simkit.meta.names import Key


class Held(NamedTuple):
    """A right that a grant gives: by which rule, and for which names only (empty: all)."""

    grant: Grant
    rule: int
    names: tuple[str, ...]


class Holding(NamedTuple):
    """A power as somebody holds it: one of its ways, and for each right of that the grant which gives it."""

    way: tuple[Right, ...]
    grants: tuple[Held, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The only names that it holds for; empty for all."""
        return tuple(dict.fromkeys(name for held in self.grants for name in held.names))


BECOMING: Final[Mapping[tuple[str, str], str]] = {
    ("impersonate", "users"): USER,
    ("impersonate", "groups"): GROUP,
    ("impersonate", "serviceaccounts"): SERVICE_ACCOUNT,
    ("create", "serviceaccounts/token"): SERVICE_ACCOUNT,
}
"""Whom one becomes by a right."""
Place = tuple[Subject, str]
"""A subject and the namespace of its grant."""


def power_checks() -> tuple[Check, ...]:
    """A check for each power of the table."""
    return tuple(_check(power) for power in POWERS)


def _check(power: Power) -> Check:
    def find(survey: Survey, check: Check) -> Iterator[Finding]:
        return _findings(survey, check, power)

    return Check(power.id, power.title, power.cluster, power.why, power.fix, find)


def holders(survey: Survey, power: Power, *, administrators: bool = False) -> dict[Place, Holding]:
    """Who holds a power where, with the grants that give it.

    Unless ``administrators`` are wanted too, grants of roles that allow everything, and of the server's edit and admin
    roles in a namespace, do not count: they have findings of their own.
    """
    found: dict[Place, Holding] = {}
    for way in power.ways:
        rights = [_rights(survey, right, administrators) for right in way]
        for place in dict.fromkeys(place for granted in rights for place in granted):
            grants = tuple(held for granted in rights if (held := _of(survey, place, granted)))
            if len(grants) == len(way):
                found[place] = _wider(found.get(place), Holding(way, grants))
    return {place: holding for place, holding in found.items() if not _is_elsewhere(place, holding, found)}


def _is_elsewhere(place: Place, holding: Holding, found: Mapping[Place, Holding]) -> bool:
    """Whether the power in a namespace adds nothing, because the subject holds it in the whole cluster."""
    subject, namespace = place
    everywhere = found.get((subject, "")) if namespace else None
    return everywhere is not None and (bool(holding.names) or not everywhere.names)


def _rights(survey: Survey, right: Right, administrators: bool) -> dict[Place, Held]:
    """Every place where the right is granted; of several grants there the one with the fewest limits."""
    found: dict[Place, Held] = {}
    for question in _questions(right):
        for grant, first in survey.who(question):
            if not administrators and survey.administers(grant):
                continue
            held = Held(grant, *limits(grant.rules, first, question))
            if held.names and right.names and not set(held.names) & set(right.names):
                continue
            place = (normalize_subject(grant.subject), grant.namespace)
            if place not in found or (found[place].names and not held.names):
                found[place] = held
    return found


def _questions(right: Right) -> Iterator[Question]:
    for verb in right.verbs:
        for resource in right.resources:
            plural, _, subresource = resource.partition("/")
            namespace = "" if right.wide else right.place or None
            name = "" if right.nameless else None
            yield Question(verb, right.group, plural, subresource, namespace, name)


def _of(survey: Survey, place: Place, granted: Mapping[Place, Held]) -> Held | None:
    """The grant of a right that counts in a place: the subject's own or a group's, there or in the whole cluster."""
    subject, namespace = place
    for principal in principals_of(subject, survey.members):
        for where in dict.fromkeys((namespace, "")):
            held = granted.get((principal, where))
            if held is not None:
                return held
    return None


def _wider(known: Holding | None, new: Holding) -> Holding:
    return known if known is not None and (new.names or not known.names) else new


def _findings(survey: Survey, check: Check, power: Power) -> Iterator[Finding]:
    """One finding for each set of bindings that gives the power, with all subjects that have it by them."""
    grouped: dict[tuple[tuple[Key, int], ...], list[tuple[Place, Holding]]] = defaultdict(list)
    for place, holding in holders(survey, power).items():
        grouped[tuple((held.grant.binding, held.rule) for held in holding.grants)].append((place, holding))
    for found in grouped.values():
        (_, namespace), holding = found[0]
        severity = None if _aims_at_nobody(survey, namespace, holding) else severity_of(power, namespace, holding)
        if severity is not None:
            yield _finding(check, severity, [place for place, _ in found], holding)


def _aims_at_nobody(survey: Survey, namespace: str, holding: Holding) -> bool:
    """Whether what can be acted as by name, alone, has no access that not everybody has."""
    kinds = {BECOMING.get((verb, one)) for right in holding.way for verb in right.verbs for one in right.resources}
    if None in kinds or not all(held.names for held in holding.grants):
        return False
    places = [namespace] if namespace else [*survey.namespaces, ""]
    names = [Subject(kind, name, place) for kind in filter(None, kinds) for name in holding.names for place in places]
    bare = (one if one.kind == SERVICE_ACCOUNT else Subject(one.kind, one.name) for one in names)
    return (
        not any(next(survey.index.grants_of_subject(one), None) for one in set(bare)) and MASTERS not in holding.names
    )


def severity_of(power: Power, namespace: str, holding: Holding) -> Severity | None:
    """How bad it is to hold a power in this way; None: not worth a finding."""
    usual = power.local if namespace else power.cluster
    if usual is not None and namespace == SYSTEM_NAMESPACE:
        usual = max(usual, min(power.cluster, Severity.HIGH))  # the controllers of the cluster run there
    if usual is None or not holding.names:
        return usual
    return None if power.named is None else min(power.named, usual)


def _finding(check: Check, severity: Severity, places: list[Place], holding: Holding) -> Finding:
    first = holding.grants[0]
    role, namespace = first.grant.role, places[0][1]
    subjects = tuple(subject for subject, _ in places)
    return check.finding(
        f"{listed(subjects)} {_sentence(namespace, holding)}.",
        severity=severity,
        namespace=namespace,
        binding=first.grant.binding,
        role=role,
        rules=tuple(dict.fromkeys(held.rule for held in holding.grants if held.grant.role == role)),
        subjects=subjects,
    )


def _sentence(namespace: str, holding: Holding) -> str:
    """What is held where and how, in words that follow the holder's name."""
    what = " and ".join(_what(right, held) for right, held in zip(holding.way, holding.grants, strict=True))
    where = f"in namespace {namespace}" if namespace else "in the whole cluster"
    only = f", only for {listed(holding.names)}" if holding.names else ""
    ways = dict.fromkeys(
        f"{display_name(held.grant.binding)} of {display_name(held.grant.role)}" for held in holding.grants
    )
    return f"may {what} {where}{only}, by {' and '.join(ways)}"


def _what(right: Right, held: Held) -> str:
    """A right in words, reduced to what the rule gives of it."""
    rule = held.grant.rules[held.rule]
    verbs = [verb for verb in right.verbs if verb in rule.verbs or ALL in rule.verbs]
    resources = [one for one in right.resources if resource_matches(rule, one, one.partition("/")[2])]
    return f"{'/'.join(verbs)} {', '.join(resources)}"
