"""Goals of an attacker: cluster-admin, secrets, nodes, a namespace, any permission, another identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Final

from simkit.analysis.access.resolve import (
    REQUEST_VERBS,
    SPECIAL_VERBS,
    URL_VERBS,
    WHOLE_CLUSTER,
    question_of,
    resolve_permission,
    scope_of,
)
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.graph import EscalationGraph
from simkit.analysis.escalation.find.states import ALL, CLUSTER_ADMIN, AttackState, role_of, subject_state
from simkit.analysis.escalation.table.primitive import primitives
from simkit.analysis.least_privilege.recorded_access import Action
from simkit.analysis.rbac.subject import implied_groups, parse_subject, text_of
from simkit.logic.rbac.binding import GROUP, Subject
from simkit.logic.rbac.question import Question
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.visible_text import html_text

Test = Callable[[AttackState], bool]


@dataclass(frozen=True)
class Goal:
    """The aim of an attacker: cluster-admin, all secrets, a node, a namespace, an identity or a permission.

    ``parse_goal`` makes one from text. ``access`` is the permission of a subject that has reached the goal; None where
    the goal is more than a permission, such as the disk of a node. ``test`` makes, for a graph, the predicate for
    states that have reached it.
    """

    name: str
    test: Callable[[EscalationGraph], Test] = field(repr=False, compare=False)
    access: Action | None = None
    question: Callable[[EscalationGraph], Question] | None = field(default=None, repr=False, compare=False)
    """The access review that shows it, for goals that are a permission."""

    def __str__(self) -> str:
        return self.name

    def _repr_html_(self) -> str:
        return f"<p>The goal <b>{html_text(self.name)}</b></p>"


def _is(*wanted: AttackState) -> Callable[[EscalationGraph], Test]:
    ends = frozenset(wanted)

    def test(graph: EscalationGraph) -> Test:
        return ends.__contains__

    return test


CLUSTER: Final = Goal("cluster-admin", _is(CLUSTER_ADMIN), Action("*", "*", "*"))
"""Full control of the cluster."""
ALL_SECRETS: Final = Goal(
    "all secrets",
    _is(CLUSTER_ADMIN, AttackState(states.SECRETS, namespace=ALL), AttackState(states.NAMESPACE, namespace=ALL)),
    Action("get", resource="secrets", namespace=SYSTEM_NAMESPACE),
)
"""The contents of the secrets of all namespaces."""


NODE: Final = Goal("a node", lambda _: lambda state: state.kind in (states.NODE, states.EVERYTHING))
"""Control of a node's host."""


def namespace_goal(namespace: str) -> Goal:
    """Full control of one namespace."""
    ends = (
        AttackState(states.NAMESPACE, namespace=namespace),
        AttackState(states.NAMESPACE, namespace=ALL),
        CLUSTER_ADMIN,
    )
    return Goal(f"namespace {namespace}", _is(*ends), Action("*", "*", "*", namespace=namespace))


def subject_goal(subject: Subject | str) -> Goal:
    """The identity of a subject."""
    wanted = parse_subject(subject)
    return Goal(text_of(wanted), _is(subject_state(wanted), subject_state(wanted, impersonated=True)))


def impact_goal(primitive: str) -> Goal:
    """The harm that a primitive does."""
    return Goal(f"impact {primitive}", _is(AttackState(states.IMPACT, primitives().primitive(primitive).id)))


def permission_goal(
    verb: str,
    resource: str,
    *,
    namespace: str | None = None,
    name: str | None = "",
    subresource: str = "",
    api_group: str | None = None,
) -> Goal:
    """A permission, in words as ``who_can`` takes them.

    Parameters
    ----------
    verb, resource, namespace, name, subresource, api_group
        The permission, in words as ``who_can`` takes them.

    Returns
    -------
    Goal
        The goal of having the permission.
    """
    title = f"{verb} {resource}" + (f"/{subresource}" if subresource else "") + (f" {name!r}" if name else "")
    title += "" if namespace is None else " everywhere" if namespace == WHOLE_CLUSTER else f" in {namespace}"

    def question(graph: EscalationGraph) -> Question:
        asked = resolve_permission(
            graph.snapshot, verb, resource, subresource=subresource, name=name or "", api_group=api_group
        )
        return question_of(asked, where, any_name=name is None)

    where = scope_of(namespace)
    plural, _, behind = resource.partition("/")
    plural, _, dotted = plural.partition(".")
    access = Action(verb, api_group or dotted, plural, subresource or behind, where or "", name or "")
    return Goal(title, lambda graph: _allowed(graph, question(graph)), access, question)


def question_goal(title: str, question: Question) -> Goal:
    """The permission that a question asks for."""

    def asked(graph: EscalationGraph) -> Question:
        return question

    return Goal(title, lambda graph: _allowed(graph, question), Action.of(question), asked)


def _allowed(graph: EscalationGraph, question: Question) -> Test:
    """The test whether an attacker in a state has a permission."""
    index = graph.facts.index
    holders = {subject_state(answer.grant.subject) for answer in index.who(question)}

    @cache
    def by_rules(state: AttackState) -> bool:
        rules = index.rules(role_of(state)) or ()
        return question.reaches(state.namespace) and any(question.allowed_by(rule) for rule in rules)

    def test(state: AttackState) -> bool:
        if state.kind == states.EVERYTHING:
            return True
        if state.kind == states.RULES:
            return state.namespace != ALL and by_rules(state)
        if state.kind == states.NAMESPACE:
            return state.namespace != ALL and question.reaches(state.namespace)
        if state.kind == GROUP:
            names = (state.name, *implied_groups(state.name))
            return any(AttackState(GROUP, name) in holders for name in names)
        return state.subject is not None and state._replace(impersonated=False) in holders

    return test


VERBS: Final = frozenset((*REQUEST_VERBS, *URL_VERBS, *SPECIAL_VERBS, ALL))
"""The verbs with which a goal may begin in text; ``permission_goal`` takes any verb."""
KNOWN: Final = {goal.name: goal for goal in (CLUSTER, ALL_SECRETS, NODE)}


def parse_goal(goal: Goal | str) -> Goal:
    """The goal that a text names.

    ``cluster-admin``, ``all secrets``, ``a node``, ``namespace prod``, ``impact G1``, a subject (``sa:ns/name``,
    ``user:alice``), or a permission (``get secrets``, ``create pods in prod``, ``get /metrics``).

    Parameters
    ----------
    goal
        ``cluster-admin``, ``secrets``, ``node``, ``namespace:NAME``, a subject, or a verb with a resource; or a goal.

    Returns
    -------
    Goal
        The goal of that name.

    Raises
    ------
    SimkitError
        For a text that names no goal.

    Examples
    --------
    >>> str(parse_goal("namespace prod")), str(parse_goal("get secrets in prod")), str(parse_goal("sa:ci/runner"))
    ('namespace prod', 'get secrets in prod', 'sa:ci/runner')
    """
    if isinstance(goal, Goal):
        return goal
    if goal in KNOWN:
        return KNOWN[goal]
    first, _, rest = goal.partition(" ")
    if first == "namespace" and rest:
        return namespace_goal(rest)
    if first == "impact" and rest:
        return impact_goal(rest)
    if not rest and ":" in goal:
        return subject_goal(goal)
    resource, _, where = rest.partition(" in ")
    near = get_close_matches(goal.lower(), KNOWN, 1, cutoff=0.8)
    if not rest or " " in resource or first not in VERBS or near:
        raise SimkitError(
            f"{goal!r} is no goal{f'; did you mean {near[0]!r}?' if near else ''}; known are {', '.join(KNOWN)}, "
            "'namespace NAME', 'impact ID', 'user:NAME', 'group:NAME', 'sa:NAMESPACE/NAME' and "
            "'VERB RESOURCE [in NAMESPACE]'"
        )
    if resource.startswith("/"):
        return question_goal(goal, Question(first, path=resource))
    return permission_goal(first, resource, namespace=where or None)
