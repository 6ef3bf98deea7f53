"""The index of all roles and bindings of a cluster for access questions.

Decisions and reasons are those of plugin/pkg/auth/authorizer/rbac/rbac.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeVar

from simkit.logic.rbac.binding import (
    ACCESS_ENTRIES,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    GROUP,
    ROLE_BINDINGS,
    ROLES,
    USER,
    Binding,
    Grant,
    Subject,
    key_of,
    missing_text,
)
from simkit.logic.rbac.forkable_mapping import ForkableMapping, ScopedGroups
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.logic.rbac.ruleset import RuleSet, mentions_of
from simkit.meta.attributes import ALLOW, NO_OPINION, Attributes, Decision, Evidence
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, name_of
from simkit.present.progress import tracked
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    from simkit.logic.providers.access_entries import AccessEntryBindings

NAMESPACES: Final = GroupResource("", "namespaces")
RESOURCES: Final = (CLUSTER_ROLES, ROLES, CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS)
"""The RBAC resources; an index must be told of every change of their objects."""
NOTHING: Final = Decision(NO_OPINION)
MOST_TOLD: Final = 100
"""Roles that are not there, of which a refusal tells the names."""

Principal = tuple[str, str]
K = TypeVar("K")
M = TypeVar("M")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ResolvedRules:
    """The rules of an identity in a namespace, and the bound roles that do not exist."""

    rules: tuple[Rule, ...]
    missing: tuple[Key, ...]


class AllowingGrant(NamedTuple):
    """A grant that allows a question, with the index of its first rule that does."""

    grant: Grant
    rule: int


class AccessIndex:
    """Roles and bindings, indexed for questions. ``put`` and ``remove`` keep it up to date, and it forks.

    Reading needs no lock beside one writer. ``fork`` must not run at the same time as a write.

    Notes
    -----
    A decision costs O(bindings that name the subject, cluster-wide or in the namespace asked for). Where several
    bindings grant, the first one speaks: cluster-wide ones first, by name. kube-apiserver names whichever comes
    first out of its cache.
    """

    _FORKED: ClassVar = ("_bindings", "_bound", "_mentioned", "_roles", "_sharing", "_uses")
    __slots__ = (*_FORKED, "entries")

    def __init__(self, entries: AccessEntryBindings | None = None) -> None:
        self.entries = entries
        """The access entries of the provider, if there are any."""
        self._roles: ForkableMapping[Key, RuleSet] = ForkableMapping()
        self._bindings: ForkableMapping[Key, Binding] = ForkableMapping()
        self._bound: ScopedGroups[Principal, Key, Binding] = ScopedGroups()
        """Bindings by subject, and by the scope of their grants."""
        self._uses: ScopedGroups[Key, Key, Binding] = ScopedGroups()
        """Bindings by role, and by the scope of their grants."""
        self._sharing: ScopedGroups[RuleSet, Key, Key] = ScopedGroups()
        """Roles by their rules, and by namespace."""
        self._mentioned: ScopedGroups[str, RuleSet, RuleSet] = ScopedGroups()
        """Rules by the resources that they name, and by the namespaces of their roles."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> AccessIndex:
        """The index of a snapshot. Raises IncompleteSnapshot if roles or bindings were not captured.

        Access entries whose scope has a wildcard are bound in each namespace that the snapshot shows.
        """
        index = cls(_entries_of(snapshot))
        for resource in RESOURCES:
            for obj in tracked(snapshot.scan(resource), f"indexing {resource.resource}"):
                index.put(key_of(obj, resource), obj)
        index._bind_entries(snapshot)
        return index

    @classmethod
    def of_entries(cls, entries: AccessEntryBindings) -> AccessIndex:
        """The index of a provider's grants alone."""
        index = cls(entries)
        index._bind_fixed(entries)
        return index

    def fork(self) -> AccessIndex:
        """An independent index with the same content, in constant time."""
        copy = AccessIndex.__new__(AccessIndex)
        copy.entries = self.entries
        for name in AccessIndex._FORKED:
            setattr(copy, name, getattr(self, name).fork())
        return copy

    def put(self, key: Key, obj: Object) -> None:
        """Update the index for a role or binding that was created or changed; other resources are ignored."""
        if key.resource in (ROLES, CLUSTER_ROLES):
            self._put_role(key, RuleSet.of(rules_of(obj)))
        elif key.resource in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
            self._put_binding(Binding.of(key, obj))
        elif key.resource == NAMESPACES:
            self._bind_in(key.name)

    def remove(self, key: Key) -> None:
        """Update the index for a role or binding that was deleted; other resources are ignored."""
        if key.resource in (ROLES, CLUSTER_ROLES):
            self._forget_role(key)
        elif key.resource in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
            self._forget_binding(key)

    def authorize(self, ask: Attributes, *, of_roles: bool = False) -> Decision:
        """ALLOW with the binding, role and rule as evidence, or NO_OPINION; ``of_roles`` leaves access entries out.

        The reason is worded as kube-apiserver does it; the first hundred roles that are not there show in the reason of
        a refusal, where kube-apiserver tells all.
        """
        identity = ask.identity
        mentions = mentions_of(ask)
        missing: dict[Key, None] = {}
        for namespace in ("", ask.namespace) if ask.is_resource and ask.namespace else ("",):
            for binding in self._bound_to(identity, namespace):
                rules = self._roles.get(binding.role)
                if rules is None:
                    missing[binding.role] = None
                    continue
                index = rules.first_mentioned(ask, mentions)
                by_entry = index >= 0 and self.entries is not None and binding.key.resource in ACCESS_ENTRIES
                if by_entry and (of_roles or self._denies(ask)):
                    continue
                if index >= 0:
                    return _allowed(binding, self._users(identity.user), identity.groups, index)
        return Decision(NO_OPINION, f"RBAC: {_told_missing(missing)}") if missing else NOTHING

    def rules_for(self, identity: Identity, namespace: str, *, of_roles: bool = False) -> ResolvedRules:
        """All rules that an identity has in a namespace (empty: in the whole cluster), in the order of bindings.

        ``of_roles`` leaves out those of access entries, which the escalation check of RBAC does not see.
        """
        rules: list[Rule] = []
        missing: list[Key] = []
        for scope in ("", namespace) if namespace else ("",):
            for binding in self._bound_to(identity, scope):
                if of_roles and binding.key.resource in ACCESS_ENTRIES:
                    continue
                found = self._roles.get(binding.role)
                if found is None:
                    missing.append(binding.role)
                else:
                    rules.extend(found.rules)
        return ResolvedRules(tuple(rules), tuple(dict.fromkeys(missing)))

    def bindings_for(self, user: str, groups: Iterable[str]) -> Iterator[Grant]:
        """Every grant of a user with these groups in any namespace: one per binding and matching subject."""
        for name in self._users(user):
            yield from self._grants_of((USER, name))
        for group in dict.fromkeys(groups):
            yield from self._grants_of((GROUP, group))

    def grants(self, identity: Identity) -> Iterator[Grant]:
        """Every grant of an identity in any namespace."""
        return self.bindings_for(identity.user, identity.groups)

    def grants_of_subject(self, subject: Subject) -> Iterator[Grant]:
        """Every grant to a subject itself, without those to its groups."""
        kind, name = subject.principal
        return (
            grant for one in (self._users(name) if kind == USER else (name,)) for grant in self._grants_of((kind, one))
        )

    def all_grants(self) -> Iterator[Grant]:
        """Every grant: one per binding and subject."""
        for binding in self._bindings.values():
            for subject in binding.subjects:
                yield self._grant(binding, subject)

    def bindings(self) -> Iterator[Binding]:
        """Every binding, including those without subjects or without an existing role."""
        return iter(self._bindings.values())

    def binding(self, key: Key) -> Binding | None:
        """The binding with a key; None if it does not exist."""
        return self._bindings.get(key)

    def bindings_of(self, role: Key) -> list[Binding]:
        """The bindings that name a role, whether it exists or not."""
        return self._uses.everywhere(role)

    def rules(self, role: Key) -> tuple[Rule, ...] | None:
        """The rules of a role; None if it does not exist."""
        found = self._roles.get(role)
        return None if found is None else found.rules

    def subjects(self) -> list[Subject]:
        """Every subject that a binding names, sorted."""
        return sorted({subject for binding in self._bindings.values() for subject in binding.subjects})

    def who(self, question: Question) -> Iterator[AllowingGrant]:
        """Every grant that allows the question, with its first rule that does.

        Members of ``system:masters`` are not among them: they need no grant.

        Notes
        -----
        O(distinct rules that name the resource in the namespace or cluster-wide, plus answers).
        """
        for rules, index in self.allowing(question).items():
            for grant in self.grants_of(rules, question.namespace):
                if question.reaches(grant.namespace) and not self.denies(question, grant):
                    yield AllowingGrant(grant, index)

    def grants_of(self, rules: RuleSet, namespace: str | None) -> Iterator[Grant]:
        """Every grant of a rule set in a namespace and in the whole cluster; for None everywhere."""
        for role in _within(self._sharing, rules, namespace):
            for binding in _within(self._uses, role, namespace):
                for subject in binding.subjects:
                    yield Grant(binding.key, role, binding.namespace, subject, rules.rules)

    def denies(self, question: Question, grant: Grant) -> bool:
        """True if the provider certainly denies what a grant of its own allows."""
        entries, own = self.entries, grant.binding.resource in ACCESS_ENTRIES
        return own and entries is not None and entries.denies_question(question, grant.subject)

    def allowing(self, question: Question) -> dict[RuleSet, int]:
        """The rule sets that allow a question in the scope of their binding, each with the index of the first such
        rule."""
        found: dict[RuleSet, int] = {}
        for mention in question.mentions:
            for rules in _within(self._mentioned, mention, question.namespace):
                index = question.first_allowing(rules, mention)
                if index >= 0:
                    found[rules] = min(index, found.get(rules, index))
        return found

    def _bound_to(self, identity: Identity, namespace: str) -> list[Binding]:
        """Bindings that name the identity and grant in exactly this scope, by name."""
        found = self._bound.members((USER, identity.user), namespace)
        if self.entries is not None:
            found += self._bound_by_entries(identity.user, self.entries, namespace)
        for group in identity.groups:
            found += self._bound.members((GROUP, group), namespace)
        if len(found) > 1:
            found = list(dict.fromkeys(found))  # a binding may name the user and her groups
            found.sort(key=lambda binding: binding.key.name)
        return found

    def _bound_by_entries(self, user: str, entries: AccessEntryBindings, namespace: str) -> list[Binding]:
        """Bindings that name a user by another of its names, and grant in exactly this scope."""
        users = entries.users(user)
        found = [one for name in users[1:] for one in self._bound.members((USER, name), namespace)]
        if namespace:  # one that the index was not told of may match a wildcard, too
            unmet = (one for one in entries.within(namespace) if self._bindings.get(one.key) is None)
            found += [one for one in unmet if one.subjects[0].name in users]
        return found

    def _users(self, user: str) -> tuple[str, ...]:
        """The names under which bindings may name a user."""
        return (user,) if self.entries is None else self.entries.users(user)

    def _denies(self, ask: Attributes) -> bool:
        """True if a statement of the provider certainly takes away what its other statements grant."""
        return self.entries is not None and bool(self.entries.denials) and self.entries.denial(ask)[0] is True

    def _bind_fixed(self, entries: AccessEntryBindings) -> None:
        for key, rules in entries.roles():
            self._put_role(key, rules)
        for binding in entries.fixed():
            self._put_binding(binding)

    def _bind_entries(self, snapshot: Snapshot) -> None:
        if self.entries is None:
            return
        self._bind_fixed(self.entries)
        objects = snapshot.scan(NAMESPACES) if NAMESPACES in snapshot.captured() else ()
        bound = {binding.namespace for binding in self._bindings.values()}
        for namespace in sorted({*map(name_of, objects), *bound} - {""}):
            self._bind_in(namespace)

    def _bind_in(self, namespace: str) -> None:
        for binding in self.entries.within(namespace) if self.entries is not None else ():
            self._put_binding(binding)

    def _grants_of(self, principal: Principal) -> Iterator[Grant]:
        for binding in sorted(self._bound.everywhere(principal), key=lambda one: (one.namespace, one.key.name)):
            for subject in binding.subjects:
                if subject.principal == principal:
                    yield self._grant(binding, subject)

    def _grant(self, binding: Binding, subject: Subject) -> Grant:
        rules = self._roles.get(binding.role)
        known = rules.rules if rules else ()
        return Grant(binding.key, binding.role, binding.namespace, subject, known, rules is None)

    def _put_role(self, key: Key, rules: RuleSet) -> None:
        before = self._roles.get(key)
        if before is rules:
            return
        self._roles.put(key, rules)  # in one step: no reader may miss a role that is only changed
        self._sharing.put(rules, key.namespace, key, key)
        for mention in rules.mentions():
            self._mentioned.put(mention, key.namespace, rules, rules)
        if before is not None:
            self._forget_rules(key, before)

    def _forget_role(self, key: Key) -> None:
        rules = self._roles.get(key)
        if rules is not None:
            self._roles.remove(key)
            self._forget_rules(key, rules)

    def _forget_rules(self, key: Key, rules: RuleSet) -> None:
        self._sharing.remove(rules, key.namespace, key)
        if not self._sharing.has(rules, key.namespace):
            for mention in rules.mentions():
                self._mentioned.remove(mention, key.namespace, rules)

    def _put_binding(self, binding: Binding) -> None:
        before = self._bindings.get(binding.key)
        self._bindings.put(binding.key, binding)
        self._uses.put(binding.role, binding.namespace, binding.key, binding)
        principals = _principals(binding)
        for principal in principals:
            self._bound.put(principal, binding.namespace, binding.key, binding)
        if before is not None:
            if before.role != binding.role:
                self._uses.remove(before.role, binding.namespace, binding.key)
            self._unbind(before, _principals(before) - principals)

    def _forget_binding(self, key: Key) -> None:
        binding = self._bindings.get(key)
        if binding is not None:
            self._bindings.remove(key)
            self._uses.remove(binding.role, binding.namespace, key)
            self._unbind(binding, _principals(binding))

    def _unbind(self, binding: Binding, principals: Iterable[Principal]) -> None:
        for principal in principals:
            self._bound.remove(principal, binding.namespace, binding.key)


def _principals(binding: Binding) -> set[Principal]:
    return {subject.principal for subject in binding.subjects}


def _within(groups: ScopedGroups[K, M, V], group: K, namespace: str | None) -> list[V]:
    """The members of a group that apply in a namespace: its own and the cluster-wide ones; for None all of them."""
    if namespace is None:
        return groups.everywhere(group)
    found = groups.members(group, "")
    return [*found, *groups.members(group, namespace)] if namespace else found


def _told_missing(missing: Collection[Key]) -> str:
    """The roles that are not there: a subject may be bound to thousands, and each refusal is remembered."""
    told = aggregate_errors(missing_text(role) for role in islice(missing, MOST_TOLD))
    return told if len(missing) <= MOST_TOLD else f"{told} and {len(missing) - MOST_TOLD} more"


def _entries_of(snapshot: Snapshot) -> AccessEntryBindings | None:
    access = snapshot.authorization.access
    if access is None:
        return None
    from simkit.logic.providers.access_entries import AccessEntryBindings  # the readers of exports, which few need

    return AccessEntryBindings(access)


def _allowed(binding: Binding, users: tuple[str, ...], groups: tuple[str, ...], rule: int) -> Decision:
    subject = binding.names(users[0], groups)
    for user in users[1:]:
        subject = subject or binding.names(user, groups)
    reason = binding.reason(subject) if subject else ""
    return Decision(ALLOW, reason, (Evidence(binding.key, binding.role, rule),))
