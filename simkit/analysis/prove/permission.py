"""A permission, as claims name it, who holds it, and the execution of requests that contradict a claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from simkit.analysis.least_privilege.recorded_access import Action, may
from simkit.analysis.prove.answer import NotReproduced
from simkit.analysis.prove.bindings import holder_text, unused_name, weakest_identity
from simkit.analysis.rbac.index import chain_of, index_of
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import normalize_subject, text_of, text_of_identity
from simkit.analysis.rbac.tables import rule_text
from simkit.client.requests import path_of
from simkit.logic.authorizers.chain import AuthorizerChain, node_identity
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, USER, Subject, key_of
from simkit.logic.rbac.index import AllowingGrant
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, name_of
from simkit.seams.snapshot import Sandbox, Snapshot


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


@dataclass(frozen=True)
class AccessCounterexample:
    """A request whose answer contradicts a claim.

    Attributes
    ----------
    identity
        The sender, with all groups.
    subject
        The user or the group that has, or lacks, the access, as text.
    access
        What is asked for.
    reason
        The binding, the role and the rule that allow it, or that none does.
    allowed
        Whether it is allowed.
    executed
        Whether access reviews on forks showed it; otherwise the authorizers of snapshots did.
    """

    identity: Identity
    subject: str
    access: Action
    reason: str
    allowed: bool = True
    executed: bool = False

    def __str__(self) -> str:
        word = "can" if self.allowed else "cannot"
        return f"{self.subject} {word} {self.access}: {self.reason}"

    @property
    def request(self) -> str:
        """What is asked for, in words."""
        return str(self.access)

    @property
    def sender(self) -> str:
        """The sender in words: the subject, and the groups that go with it."""
        groups = [group for group in self.identity.groups if f"group:{group}" != self.subject]
        return f"{self.subject} (with the groups {', '.join(groups)})" if groups else self.subject


def grant_text(binding: Key, role: Key, number: int, rule: Rule) -> str:
    """A grant in words: the binding, the role and the rule."""
    return f"{display_name(binding)} grants {display_name(role)}, rule {number} ({rule_text(rule)})"


@dataclass(frozen=True)
class ReviewedSide:
    """A cluster, or the snapshot of one, that is asked whether requests are allowed.

    Attributes
    ----------
    where
        The cluster, of which a fork is asked, or a snapshot.
    snapshot
        Its objects.
    unsettled
        Aggregated roles as the controller will write them, which it has not done yet.
    """

    where: Sandbox | Snapshot
    snapshot: Snapshot
    unsettled: tuple[Object, ...] = ()

    @property
    def executes(self) -> bool:
        """True if requests are executed on a fork."""
        return isinstance(self.where, Sandbox)

    def answers(self, asked: Iterable[tuple[Action, Identity]]) -> list[bool]:
        """Whether each request of an identity is allowed."""
        if not isinstance(self.where, Sandbox):
            chain = self._settled_chain()
            return [chain.authorize(access.ask(identity)).allowed for access, identity in asked]
        fork = self.where.fork()
        for role in self.unsettled:
            path = path_of(CLUSTER_ROLES, name=name_of(role))
            response = fork.perform(Request.of("PUT", path, role), identity=administrator())
            if not response.succeeded:
                raise NotReproduced(f"the rules of the aggregated role {name_of(role)} could not be written")
        return [may(fork, identity, access) for access, identity in asked]

    def _settled_chain(self) -> AuthorizerChain:
        """The authorizers of the snapshot, once the controller has filled aggregated roles."""
        if not self.unsettled:
            return chain_of(self.snapshot)
        index = index_of(self.snapshot).fork()
        for role in self.unsettled:
            index.put(key_of(role, CLUSTER_ROLES), role)
        return AuthorizerChain(self.snapshot, index)


def reproduced(
    found: Sequence[AccessCounterexample], after: ReviewedSide, before: ReviewedSide | None = None
) -> tuple[AccessCounterexample, ...]:
    """The counterexamples, executed: answered as they say on one side, and, if another is given, refused on that one.

    Raises
    ------
    NotReproduced
        Where the server answers otherwise.
    """
    asked = [(each.access, each.identity) for each in found]
    now = after.answers(asked)
    was = before.answers(asked) if before is not None else [False] * len(asked)
    for each, allowed_now, allowed_before in zip(found, now, was, strict=True):
        if allowed_now is not each.allowed:
            raise NotReproduced(f"the server does not confirm it: {each}")
        if allowed_before:
            raise NotReproduced(f"the server allowed it before: {each}")
    executed = after.executes and (before is None or before.executes)
    return tuple(replace(each, executed=executed) for each in found)
