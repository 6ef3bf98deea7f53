"""The roles and bindings of one side of a comparison, and the identities that requests can carry.

Identities carry what kube-apiserver adds by itself: everybody who has logged in is in ``system:authenticated``,
``system:anonymous`` is in ``system:unauthenticated`` and nowhere else, service accounts and nodes are in their groups.
Besides these groups, an identity provider may put anybody in any combination of groups. Names that begin with
``system:`` are reserved for Kubernetes, so that no provider hands them out in another way.

Grants only ever add access. So whether a grant to a user or a group allows anything new is decided by the identity
that has this user or group, and nothing besides what is implied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, count
from typing import NamedTuple

from simkit.analysis.rbac.objects import require_captured
from simkit.analysis.rbac.subject import identity_of, normalize_subject, text_of
from simkit.logic.rbac.aggregate import with_aggregated_rules
from simkit.logic.rbac.binding import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    GROUP,
    ROLE_BINDINGS,
    ROLES,
    USER,
    Binding,
    Subject,
    key_of,
    role_key,
)
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.logic.rbac.ruleset import RuleSet
from simkit.meta.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    NODE_PREFIX,
    NODES,
    SERVICE_ACCOUNTS,
    UNAUTHENTICATED,
    Identity,
    service_account,
    split_service_account,
)
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.seams.snapshot import Snapshot

Principal = tuple[str, str]
"""The kind, User or Group, and the name, as a request carries them."""


def weakest_identity(principal: Principal, new_name: str) -> Identity | None:
    """The identity with a user name or a group, and with nothing that is not implied.

    Parameters
    ----------
    principal
        The user or the group.
    new_name
        A name that no binding names: of the user in the group, of the service account, of its namespace, of the node.

    Returns
    -------
    Identity or None
        None for ``system:masters``, whose members need no grant, and for what no request carries.

    Examples
    --------
    >>> weakest_identity(("Group", "devs"), "somebody").groups
    ('devs', 'system:authenticated')
    """
    kind, name = principal
    if kind == USER:
        return identity_of(normalize_subject(Subject(USER, name))) if name else None
    if kind != GROUP or name == MASTERS:
        return None
    if name == UNAUTHENTICATED:
        return Identity(ANONYMOUS, (UNAUTHENTICATED,))
    if name == SERVICE_ACCOUNTS:
        return service_account(new_name, new_name)
    if name == NODES:
        return Identity(f"{NODE_PREFIX}{new_name}", (NODES, AUTHENTICATED))
    prefix, _, namespace = name.rpartition(":")
    if prefix == SERVICE_ACCOUNTS and split_service_account(service_account(namespace, new_name).user):
        return service_account(namespace, new_name)
    return Identity(new_name, tuple(dict.fromkeys((name, AUTHENTICATED))))


def principals_of_identity(identity: Identity) -> tuple[Principal, ...]:
    """The user and the groups of an identity, each as bindings name them."""
    return ((USER, identity.user), *((GROUP, group) for group in identity.groups))


def holder_text(principal: Principal) -> str:
    """The subject that a binding names, as text."""
    return text_of(normalize_subject(Subject(principal[0], principal[1])))


def unused_name(wish: str, taken: Iterable[str]) -> str:
    """A name that is no part of any of the taken ones: the wish itself, or with a number.

    Examples
    --------
    >>> unused_name("somebody", {"system:serviceaccount:dev:somebody"})
    'somebody-1'
    """
    listed = tuple(taken)
    names = chain([wish], (f"{wish}-{number}" for number in count(1)))
    return next(name for name in names if not any(name in text for text in listed))


class Held(NamedTuple):
    """The rules that a binding grants."""

    rules: RuleSet
    binding: Key


class AddedRule(NamedTuple):
    """A rule that a binding grants to a user or a group, and did not grant before."""

    principal: Principal
    binding: Key
    role: Key
    number: int
    rule: Rule


class RbacSide:
    """The roles and bindings of a snapshot.

    Raises IncompleteSnapshot where they were not captured.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        require_captured(snapshot)
        stored = list(snapshot.scan(CLUSTER_ROLES))
        settled = with_aggregated_rules(stored)
        self.unsettled = tuple(role for role, as_stored in zip(settled, stored, strict=True) if role is not as_stored)
        """The aggregated roles whose rules the controller has yet to write."""
        self.roles = {key_of(obj, CLUSTER_ROLES): obj for obj in settled}
        self.roles |= {key_of(obj, ROLES): obj for obj in snapshot.scan(ROLES)}
        self.bindings: Mapping[Key, Object] = {
            key_of(obj, resource): obj
            for resource in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS)
            for obj in snapshot.scan(resource)
        }
        self._rules: dict[Key, RuleSet | None] = {}

    def rules(self, role: Key) -> RuleSet | None:
        """The rules of a role; None if there is no such role."""
        if role not in self._rules:
            obj = self.roles.get(role)
            self._rules[role] = None if obj is None else RuleSet.of(rules_of(obj))
        return self._rules[role]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all subjects, and of all namespaces with bindings."""
        named = {entry.get("name") or "" for obj in self.bindings.values() for entry in obj.get("subjects") or ()}
        return frozenset(named | {key.namespace for key in self.bindings})

    def added_rules(self, before: RbacSide) -> Iterator[AddedRule]:
        """The rules that bindings grant here, and granted to the same subject by the same binding nowhere before.

        Notes
        -----
        Only bindings are looked at that changed, or whose role changed.
        """
        same_roles = {key for key, obj in self.roles.items() if _same_rules(obj, before.roles.get(key))}
        for key, obj in self.bindings.items():
            known = before.bindings.get(key)
            same = known is not None and _same_binding(obj, known)
            if not (same and role_key(obj.get("roleRef") or {}, key.namespace) in same_roles):
                yield from self._added(Binding.of(key, obj), before, known)

    def _added(self, binding: Binding, before: RbacSide, known: Object | None) -> Iterator[AddedRule]:
        rules = self.rules(binding.role)
        if rules is None:
            return
        earlier = None if known is None else Binding.of(binding.key, known)
        had = before.rules(earlier.role) if earlier is not None else None
        bound = {subject.principal for subject in earlier.subjects} if earlier is not None else set()
        for principal in dict.fromkeys(subject.principal for subject in binding.subjects):
            kept = frozenset(had.rules) if had is not None and principal in bound else frozenset[Rule]()
            for number, rule in enumerate(rules.rules):
                if rule not in kept:
                    yield AddedRule(principal, binding.key, binding.role, number, rule)

    def changes(self, before: RbacSide) -> tuple[int, int]:
        """The numbers of bindings and of roles that were created, changed or deleted."""
        bindings = sum(
            known is None or not _same_binding(obj, known)
            for known, obj in ((before.bindings.get(key), obj) for key, obj in self.bindings.items())
        )
        roles = sum(not _same_rules(obj, before.roles.get(key)) for key, obj in self.roles.items())
        gone = len(before.bindings.keys() - self.bindings.keys()), len(before.roles.keys() - self.roles.keys())
        return bindings + gone[0], roles + gone[1]


class Holdings:
    """What the bindings of a side grant to some users and groups."""

    def __init__(self, side: RbacSide, principals: Iterable[Principal]) -> None:
        wanted = set(principals)
        self._held: dict[tuple[Principal, str], list[Held]] = {}
        for key, obj in side.bindings.items():
            binding = Binding.of(key, obj)
            named = {subject.principal for subject in binding.subjects} & wanted
            rules = side.rules(binding.role) if named else None
            if rules is not None:
                for principal in named:
                    self._held.setdefault((principal, binding.namespace), []).append(Held(rules, key))

    def of(self, identity: Identity, namespace: str) -> tuple[Held, ...]:
        """What an identity holds in a namespace (empty: in the whole cluster), each rule set once."""
        scopes = ("", namespace) if namespace else ("",)
        found: dict[RuleSet, Held] = {}
        for principal in principals_of_identity(identity):
            for scope in scopes:
                for held in self._held.get((principal, scope), ()):
                    found.setdefault(held.rules, held)
        return tuple(found.values())


def _same_rules(role: Object, other: Object | None) -> bool:
    return role is other or (other is not None and (role.get("rules") or []) == (other.get("rules") or []))


def _same_binding(binding: Object, other: Object) -> bool:
    return binding is other or all(binding.get(name) == other.get(name) for name in ("subjects", "roleRef"))
