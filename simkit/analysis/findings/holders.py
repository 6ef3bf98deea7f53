"""Holders of risky permissions: the evaluation of the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final, NamedTuple

from simkit.analysis.access.resolve import limits
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE
from simkit.analysis.escalation.find.states import subject_state
from simkit.analysis.escalation.table.primitive import primitives
from simkit.analysis.escalation.table.requirement import ANY_SUBRESOURCE, Alternative, Requirement
from simkit.analysis.escalation.table.risky_permission import (
    RiskyGrant,
    RiskyPermission,
    requirements_of_grant,
    risky_permission_table,
)
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Check, Finding
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.rbac.index import principals_of
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import normalize_subject
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, ROLES, SERVICE_ACCOUNT, USER, Grant, Subject
from simkit.logic.rbac.cover import EVERYTHING, covers
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import ALL, Rule, resource_matches
from simkit.meta.identity import MASTERS
from simkit.meta.names import GroupResource, Key


class GrantedRequirement(NamedTuple):
    """A grant that meets a requirement: its rule, and the only names it holds for (empty: all)."""

    grant: Grant
    rule: int
    names: tuple[str, ...]


class Holding(NamedTuple):
    """A risky permission that a subject holds: one of its grants, and the grant for each of its requirements."""

    risk: RiskyGrant
    requirements: tuple[Requirement, ...]
    grants: tuple[GrantedRequirement, ...]
    by_name: bool = True
    """True if a finding is made even when the permission holds for single names only."""
    level: Severity | None = None
    """The severity where it depends on what the names are: of the roles that may be bound."""

    @property
    def names(self) -> tuple[str, ...]:
        """The only names that it holds for; empty for all."""
        return tuple(dict.fromkeys(name for held in self.grants for name in held.names))

    def severity(self, namespace: str) -> Severity | None:
        """The severity of holding it in a namespace (empty: everywhere); None if no finding is made."""
        if self.names and not self.by_name:
            return None
        if self.level is not None:
            return self.level
        return self.risk.at(namespace, by_name=bool(self.names))


RESOURCE_NAMES: Final = "resourceNames"
EVERYTHING_ALLOWED: Final = "A1"
"""The primitive of whoever may do everything."""
BECOMING: Final[Mapping[tuple[str, str], str]] = {
    ("impersonate", "users"): USER,
    ("impersonate", "groups"): GROUP,
    ("impersonate", "serviceaccounts"): SERVICE_ACCOUNT,
    ("create", "serviceaccounts/token"): SERVICE_ACCOUNT,
}
"""The kind of identity that a permission lets its holder act as."""
Scope = tuple[Subject, str]
"""A subject and the namespace of its grant."""


def risky_permission_checks() -> tuple[Check, ...]:
    """A check for each risky permission of the table."""
    return tuple(_check(permission) for permission in risky_permission_table().every)


def _check(permission: RiskyPermission) -> Check:
    find = partial(_findings, permission=permission)
    return Check(permission.id, permission.title, permission.severity, permission.why, permission.fix, find)


def holders(survey: Survey, permission: RiskyPermission, *, administrators: bool = False) -> dict[Scope, Holding]:
    """The subjects that hold a risky permission, by scope, with the grants that give it.

    Parameters
    ----------
    administrators
        Whether grants count that have findings of their own: of roles that allow everything, and of the roles edit and
        admin in a namespace.

    Returns
    -------
    dict
        For each subject and namespace (empty: everywhere) the worst holding.

    Notes
    -----
    O(grants that meet one of the requirements). Computed once per audit, as several checks ask for it.
    """
    return survey.once((permission.id, administrators), lambda: _holders(survey, permission, administrators))


def _holders(survey: Survey, permission: RiskyPermission, administrators: bool) -> dict[Scope, Holding]:
    found: dict[Scope, Holding] = {}
    for risk in permission.grants:
        requirements = requirements_of_grant(risk, survey.snapshot.release)
        if risk.if_present and not any(_is_present(survey, one) for one in requirements):
            continue
        if not all(primitives().primitive(one).holds_in(survey.snapshot.release) for one in risk.primitives):
            continue
        granted = [
            survey.once((one, administrators), partial(_granted, survey, one, administrators)) for one in requirements
        ]
        for scope in dict.fromkeys(scope for some in granted for scope in some):
            grants = tuple(held for some in granted if (held := _of(survey, scope, some)))
            if len(grants) == len(requirements) and _is_usable(survey, scope, risk):
                level = _level_of_roles(survey, scope, requirements, grants)
                holding = Holding(risk, requirements, grants, permission.by_name, level)
                found[scope] = _worse(found.get(scope), holding, scope)
    return {scope: holding for scope, holding in found.items() if not _is_elsewhere(scope, holding, found)}


def _level_of_roles(
    survey: Survey, scope: Scope, requirements: Iterable[Requirement], grants: Iterable[GrantedRequirement]
) -> Severity | None:
    """The severity of the roles that may be bound, where ``bind`` is limited to some by name; else None."""
    for requirement, held in zip(requirements, grants, strict=True):
        resources = {one.permission.resource for one in requirement.any_of if one.permission.verb == "bind"}
        if resources and held.names:
            _, namespace = scope
            cluster_roles = {Key(CLUSTER_ROLES, "", name) for name in held.names if CLUSTER_ROLES.resource in resources}
            places = [namespace] if namespace else survey.namespaces
            roles = {Key(ROLES, place, name) for name in held.names for place in places if ROLES.resource in resources}
            return max((severity_of_role(survey, one, namespace) for one in cluster_roles | roles), default=None)
    return None


def severity_of_role(survey: Survey, role: Key, namespace: str) -> Severity:
    """The severity of being given a role in a namespace (empty: everywhere): that of the worst that it permits."""
    return _severity_of_rules(survey.rules(role), survey.snapshot.release, namespace)


@lru_cache(maxsize=4096)
def _severity_of_rules(rules: tuple[Rule, ...], release: str, namespace: str) -> Severity:
    if covers(rules, EVERYTHING[:1]):
        return primitives().primitive(EVERYTHING_ALLOWED).severities.at(namespace) or Severity.CRITICAL
    levels = [Severity.INFO]
    for permission in risky_permission_table().every:
        for risk in permission.grants:
            needs = requirements_of_grant(risk, release)
            meeting = [[one for one in rules if _meets(one, need)] for need in needs]
            if all(meeting):
                by_name = all(rule.resource_names for some in meeting for rule in some)
                levels.append(risk.at(namespace, by_name=by_name) or Severity.INFO)
    return max(levels)


def _meets(rule: Rule, requirement: Requirement) -> bool:
    return any(one.permission.granted_by(rule) for one in requirement.any_of)


def _is_usable(survey: Survey, scope: Scope, risk: RiskyGrant) -> bool:
    """True unless a grant is a variant of a primitive that the holder cannot use, as nothing serves its resource or its
    condition on the cluster's objects is not met.
    """
    if risk.variant is None:
        return True
    subject, namespace = scope
    graph = graph_of(survey.snapshot, survey.members)
    holder = survey.once(("holder", subject), lambda: graph.holder(subject_state(subject)))
    if holder is None:
        return False
    found = graph.uses.usable(replace(holder, own=None), primitives().primitive(risk.primitives[0]), risk.variant)
    return any(match.namespace in (EVERYWHERE, namespace) for match, _ in found)


def _is_present(survey: Survey, requirement: Requirement) -> bool:
    """True if one of the objects that a requirement names exists in the snapshot."""
    wanted = {GroupResource(one.permission.group, one.permission.resource) for one in requirement.any_of}
    return any(
        survey.snapshot.get(resource, name, requirement.namespace) is not None
        for resource in wanted & set(survey.snapshot.captured())
        for name in requirement.names
    )


def _is_elsewhere(place: Scope, holding: Holding, found: Mapping[Scope, Holding]) -> bool:
    """True if the subject holds the permission in the whole cluster already, so that the namespace adds nothing."""
    subject, namespace = place
    everywhere = found.get((subject, "")) if namespace else None
    return everywhere is not None and (bool(holding.names) or not everywhere.names)


def _granted(survey: Survey, requirement: Requirement, administrators: bool) -> dict[Scope, GrantedRequirement]:
    """Every scope where the requirement is met; among several grants the one with the fewest limits."""
    found: dict[Scope, GrantedRequirement] = {}
    for question in _asked(survey, requirement):
        for grant, first in survey.who(question):
            if not administrators and survey.administers(grant):
                continue
            held = GrantedRequirement(grant, *limits(grant.rules, first, question))
            if held.names and requirement.names and not set(held.names) & set(requirement.names):
                continue
            scope = (normalize_subject(grant.subject), grant.namespace)
            if scope not in found or (found[scope].names and not held.names):
                found[scope] = held
    return found


def _asked(survey: Survey, requirement: Requirement) -> Iterator[Question]:
    """The questions of which one has to be allowed for a requirement to be met: for each subresource that rules name,
    where any is enough."""
    for question in (_question(requirement, one) for one in requirement.any_of):
        if question.subresource != ANY_SUBRESOURCE:
            yield question
            continue
        start = f"{question.resource}/"
        rules = (rule for binding in survey.bindings for rule in survey.rules(binding.role))
        named = {one.removeprefix(start) for rule in rules for one in rule.resources if one.startswith(start)}
        yield from (replace(question, subresource=one) for one in sorted({*named, ANY_SUBRESOURCE}))


def _question(requirement: Requirement, one: Alternative) -> Question:
    permission = one.permission
    plural, _, subresource = permission.resource.partition("/")
    namespace = "" if one.cluster else requirement.namespace or None
    name = "" if permission.nameless else None
    return Question(permission.verb, permission.group, plural, subresource, namespace, name)


def _of(survey: Survey, scope: Scope, granted: Mapping[Scope, GrantedRequirement]) -> GrantedRequirement | None:
    """The grant that applies in a scope: the subject's own or a group's, there or in the whole cluster."""
    subject, namespace = scope
    for principal in principals_of(subject, survey.members):
        for where in dict.fromkeys((namespace, "")):
            held = granted.get((principal, where))
            if held is not None:
                return held
    return None


def _worse(known: Holding | None, new: Holding, scope: Scope) -> Holding:
    """The holding with the higher severity; if equal, the one without limits, then the first."""
    if known is None:
        return new
    _, namespace = scope

    def rank(one: Holding) -> tuple[int, bool]:
        severity = one.severity(namespace)
        return (-1 if severity is None else severity.rank, not one.names)

    return new if rank(new) > rank(known) else known


def _findings(survey: Survey, check: Check, permission: RiskyPermission) -> Iterator[Finding]:
    """One finding for each set of bindings that gives the permission, with all subjects that have it by them."""
    grouped: dict[tuple[tuple[Key, int], ...], list[tuple[Scope, Holding]]] = defaultdict(list)
    for place, holding in holders(survey, permission).items():
        grouped[tuple((held.grant.binding, held.rule) for held in holding.grants)].append((place, holding))
    for found in grouped.values():
        (_, namespace), holding = found[0]
        severity = None if _aims_at_nobody(survey, namespace, holding) else holding.severity(namespace)
        if severity is not None:
            yield _finding(check, severity, [place for place, _ in found], holding)


def _aims_at_nobody(survey: Survey, namespace: str, holding: Holding) -> bool:
    """True if every identity that can be impersonated by name has only the access that everybody has."""
    kinds = {
        BECOMING.get((one.permission.verb, one.permission.resource))
        for requirement in holding.requirements
        for one in requirement.any_of
    }
    if None in kinds or not all(held.names for held in holding.grants):
        return False
    places = [namespace] if namespace else [*survey.namespaces, ""]
    names = [Subject(kind, name, place) for kind in filter(None, kinds) for name in holding.names for place in places]
    bare = (one if one.kind == SERVICE_ACCOUNT else Subject(one.kind, one.name) for one in names)
    return (
        not any(next(survey.index.grants_of_subject(one), None) for one in set(bare)) and MASTERS not in holding.names
    )


def _finding(check: Check, severity: Severity, places: list[Scope], holding: Holding) -> Finding:
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
        fix=_fix(check, holding),
    )


def _fix(check: Check, holding: Holding) -> str:
    """The advice for a holding; a grant that is limited to names already has names to remove."""
    if not holding.names or RESOURCE_NAMES not in check.fix:
        return check.fix
    roles = listed(dict.fromkeys(display_name(held.grant.role) for held in holding.grants if held.names))
    return f"In the {RESOURCE_NAMES} of {roles}, keep only those of {listed(holding.names)} that are needed."


def _sentence(namespace: str, holding: Holding) -> str:
    """The end of a sentence that says what is held where; it follows the holder's name."""
    what = " and ".join(_what(one, held) for one, held in zip(holding.requirements, holding.grants, strict=True))
    where = f"in namespace {namespace}" if namespace else "in the whole cluster"
    only = f", only for {listed(holding.names)}" if holding.names else ""
    ways = dict.fromkeys(
        f"{display_name(held.grant.binding)} of {display_name(held.grant.role)}" for held in holding.grants
    )
    return f"may {what} {where}{only}, by {' and '.join(ways)}"


def _what(requirement: Requirement, held: GrantedRequirement) -> str:
    """A requirement in words, reduced to the part that the rule gives."""
    rule = held.grant.rules[held.rule]
    permissions = [one.permission for one in requirement.any_of]
    verbs = dict.fromkeys(one.verb for one in permissions if one.verb in rule.verbs or ALL in rule.verbs)
    resources = dict.fromkeys(
        one.resource for one in permissions if resource_matches(rule, one.resource, one.subresource)
    )
    return f"{'/'.join(verbs)} {', '.join(resources)}"
