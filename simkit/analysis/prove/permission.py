"""A permission, as claims name it, and who holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from simkit.analysis.access.resolve import (
    connection_subresource,
    connection_verbs,
    question_of,
    resolve_permission,
    scope_of,
)
from simkit.analysis.escalation.find.goal import Goal, parse_goal, question_goal
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.least_privilege.recorded_access import Action
from simkit.analysis.prove.bindings import holder_text, unused_name, weakest_identity
from simkit.analysis.prove.counterexample import AccessCounterexample, grant_text
from simkit.analysis.rbac.index import chain_of, index_of
from simkit.analysis.rbac.subject import normalize_subject, text_of, text_of_identity
from simkit.logic.authorizers.chain import node_identity
from simkit.logic.rbac.binding import GROUP, USER, Subject
from simkit.logic.rbac.index import AllowingGrant
from simkit.logic.rbac.question import Question
from simkit.meta.identity import Identity
from simkit.seams.snapshot import Snapshot


@dataclass(frozen=True)
class AskedPermission:
    """A permission in words, with the questions any of which stands for it.

    Attributes
    ----------
    text
        The permission in words.
    questions
        Questions for the index. ``exec`` of pods has several: each of its verbs is enough.
    """

    text: str
    questions: tuple[Question, ...]

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goals of somebody who wants the permission, any of which counts."""
        return tuple(question_goal(self.text, question) for question in self.questions)


def permission_named(
    snapshot: Snapshot, verb: str, resource: str = "", *, name: str = "", namespace: str | None = None, url: str = ""
) -> AskedPermission:
    """The permission in words as ``who_can`` takes them; without a name it is about any object, even a single one."""
    subresource = connection_subresource(snapshot, verb, resource)
    verbs = connection_verbs(snapshot) if subresource else (verb,)
    what = f"pods/{subresource}" if subresource else resource
    asked = [resolve_permission(snapshot, one, what, name=name, url=url) for one in verbs]
    questions = tuple(question_of(one, scope_of(namespace), any_name=not name) for one in asked)
    where = "" if namespace is None else f" in {namespace}"
    return AskedPermission(f"{verb} {url or resource}" + (f" {name!r}" if name else "") + where, questions)


def claim_of(snapshot: Snapshot, goal: Goal | str) -> AskedPermission | Goal:
    """The permission that a text names, or the goal, where it is more than a permission."""
    if isinstance(goal, str):
        verb, _, rest = goal.partition(" ")
        resource, _, namespace = rest.partition(" in ")
        if connection_subresource(snapshot, verb, resource):
            return permission_named(snapshot, verb, resource, namespace=namespace or None)
    known = parse_goal(goal)
    if known.question is None:
        return known
    question = known.question(graph_of(snapshot))
    return AskedPermission(known.name, (replace(question, name=question.name or None),))


def holders(
    snapshot: Snapshot, permission: AskedPermission, excepted: Iterable[str] = ()
) -> Iterator[AccessCounterexample]:
    """Everybody who has a permission, with a request that shows it: the weakest identity of each grant.

    Parameters
    ----------
    permission
        What is asked for.
    excepted
        Patterns of subjects that are left out, and with them everybody who is in such a group.
    """
    patterns = tuple(excepted)
    index = index_of(snapshot)
    new_name = unused_name("somebody", (subject.name for subject in index.subjects()))
    for question in permission.questions:
        for allowing in index.who(question):
            principal = allowing.grant.subject.principal
            identity = weakest_identity(principal, new_name)
            access = _access(question, allowing, new_name)
            if identity is None or access is None or is_excepted(identity, holder_text(principal), patterns):
                continue
            grant = allowing.grant
            reason = grant_text(grant.binding, grant.role, allowing.rule, grant.rules[allowing.rule])
            yield AccessCounterexample(identity, holder_text(principal), access, reason)
        yield from _of_other_authorizers(snapshot, question, patterns, new_name)


def is_excepted(identity: Identity, holder: str, patterns: Iterable[str]) -> bool:
    """True if a pattern names the holder, the user, or a group of an identity."""
    user = text_of(normalize_subject(Subject(USER, identity.user)))
    names = (holder, user, *(text_of(Subject(GROUP, group)) for group in identity.groups))
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _access(question: Question, allowing: AllowingGrant, new_name: str) -> Action | None:
    """A request that a grant allows; None if it is about a namespace other than the one in which it holds."""
    grant, rule = allowing.grant, allowing.grant.rules[allowing.rule]
    names = rule.resource_names if not question.path else ()
    name = question.name if question.name is not None else (names or ("",))[0]
    where = question.namespace if question.namespace is not None else grant.namespace
    if question.resource == "namespaces" and not question.group and grant.namespace:
        if names and grant.namespace not in names:
            return None
        name = grant.namespace if names else name
    return Action.of(replace(question, namespace=where, name=name))


def _of_other_authorizers(
    snapshot: Snapshot, question: Question, patterns: tuple[str, ...], new_name: str
) -> Iterator[AccessCounterexample]:
    """Those whom an authorizer besides RBAC allows it; a node that has yet to join is one of them."""
    for other in chain_of(snapshot).others:
        joining = (node_identity(new_name),) if other.mode == "Node" else ()
        for identity in (*other.identities, *joining):
            holder = text_of_identity(identity)
            if is_excepted(identity, holder, patterns):
                continue
            for namespace, names in other.allowed(identity, question).items():
                asked = replace(question, namespace=namespace, name=(names or (question.name or "",))[0])
                yield AccessCounterexample(identity, holder, Action.of(asked), f"the authorizer {other.mode} allows it")
                break
