"""The permissions of primitives that an identity holds, with the grants that give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final, NamedTuple

from simkit.analysis.escalation.table.primitive import primitives, requirements_of
from simkit.analysis.escalation.table.requirement import ANY_SUBRESOURCE, Permission, Requirement
from simkit.logic.rbac.binding import Grant, Subject
from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.names import Key

EVERYWHERE: Final = "*"
"""The value that stands for all namespaces."""


class GrantSource(NamedTuple):
    """The source of a permission: a binding's subject and a rule of a role. A cut removes sources."""

    binding: Key
    role: Key
    rule: int
    subject: Subject


class HeldPermission(NamedTuple):
    """One grant of a permission: namespace (empty: cluster-wide), names (None: all), and source.

    The source is None for what was reached on the way, which no cut takes away by itself.
    """

    namespace: str
    names: tuple[str, ...] | None
    source: GrantSource | None


HeldPermissions = dict[Permission, list[HeldPermission]]
"""All permissions of primitives that one identity holds."""

WatchedGrants = tuple[tuple[Permission, int, tuple[str, ...] | None], ...]
"""The permissions of primitives that one role grants: permission, index of the rule, names."""


@cache
def _watched(release: str) -> tuple[dict[str, tuple[Permission, ...]], tuple[Permission, ...]]:
    """All permissions that some primitive requires, by resource, and as one list."""
    every: dict[Permission, None] = {}
    for primitive in primitives().primitives:
        for variant in range(len(primitive.variants)):
            for requirement in requirements_of(primitive.id, variant, release):
                every.update(dict.fromkeys(option.permission for option in requirement.any_of))
    by_resource: dict[str, list[Permission]] = {}
    for permission in every:
        by_resource.setdefault(permission.resource, []).append(permission)
        if permission.subresource:
            by_resource.setdefault(f"*/{permission.subresource}", []).append(permission)
    return {resource: tuple(found) for resource, found in by_resource.items()}, tuple(every)


@cache
def primitives_by_permission(release: str) -> dict[object, tuple[str, ...]]:
    """The primitives that need each permission."""
    found: dict[object, dict[str, None]] = {}
    for primitive in primitives().primitives:
        for number in range(len(primitive.variants)):
            for requirement in requirements_of(primitive.id, number, release):
                for option in requirement.any_of:
                    found.setdefault(option.permission, {})[primitive.id] = None
    return {permission: tuple(names) for permission, names in found.items()}


def watched_grants(rules: Iterable[Rule], release: str) -> WatchedGrants:
    """The permissions of primitives that rules grant."""
    return tuple(
        (one, index, rule.resource_names or None)
        for index, rule in enumerate(rules)
        for one in _granted_by(rule, release)
    )


@lru_cache(maxsize=16384)
def _granted_by(rule: Rule, release: str) -> tuple[Permission, ...]:
    """The permissions of primitives that one rule grants."""
    by_resource, every = _watched(release)
    if not rule.resources:
        return ()
    candidates: Iterable[Permission] = (
        every
        if ALL in rule.resources
        else dict.fromkeys(
            one for resource in rule.resources for key in _keys(resource) for one in by_resource.get(key, ())
        )
    )
    return tuple(one for one in candidates if one.granted_by(rule))


def _keys(resource: str) -> tuple[str, ...]:
    """The keys under which the permissions on a resource are watched."""
    plural, slash, _ = resource.partition("/")
    return (resource, f"{plural}/{ANY_SUBRESOURCE}") if slash else (resource,)


class WatchedRoles:
    """``watched_grants`` for the roles and grants of one snapshot, each once."""

    def __init__(self, release: str) -> None:
        self._release = release
        self._known: dict[tuple[Rule, ...], WatchedGrants] = {}
        self._held: dict[tuple[Key, Subject], tuple[tuple[Permission, HeldPermission], ...]] = {}

    def without_grants(self) -> WatchedRoles:
        """The same rules, for a snapshot with other grants."""
        other = WatchedRoles(self._release)
        other._known = self._known
        return other

    def of(self, rules: tuple[Rule, ...]) -> WatchedGrants:
        """The permissions of primitives that rules grant."""
        known = self._known.get(rules)
        if known is None:
            known = self._known[rules] = watched_grants(rules, self._release)
        return known

    def held_by(self, grant: Grant) -> tuple[tuple[Permission, HeldPermission], ...]:
        """The permissions of primitives that a grant gives, each with its source."""
        known = self._held.get((grant.binding, grant.subject))
        if known is None:
            known = self._held[grant.binding, grant.subject] = tuple(
                (
                    permission,
                    HeldPermission(grant.namespace, names, GrantSource(grant.binding, grant.role, rule, grant.subject)),
                )
                for permission, rule, names in self.of(grant.rules)
            )
        return known


def add_grants(held: HeldPermissions, grants: Iterable[Grant], matches: WatchedRoles) -> HeldPermissions:
    """Held permissions with those of grants added."""
    for grant in grants:
        for permission, one in matches.held_by(grant):
            held.setdefault(permission, []).append(one)
    return held


def add_rules(held: HeldPermissions, rules: tuple[Rule, ...], namespace: str, matches: WatchedRoles) -> HeldPermissions:
    """Held permissions with those of rules added that were reached on the way."""
    for permission, _, names in matches.of(rules):
        held.setdefault(permission, []).append(HeldPermission(namespace, names, None))
    return held


class MetRequirement(NamedTuple):
    """The permissions and grants that meet one requirement in each namespace (``*`` for all)."""

    requirement: Requirement
    by_namespace: dict[str, list[tuple[Permission, HeldPermission]]]

    def holds(self, namespace: str) -> list[tuple[Permission, HeldPermission]]:
        """The grants that meet it in one namespace."""
        found = self.by_namespace.get(EVERYWHERE, [])
        return found if namespace in ("", EVERYWHERE) else [*found, *self.by_namespace.get(namespace, ())]

    def names(self, namespace: str) -> tuple[str, ...] | None:
        """The names for which it is met in a namespace; None for all."""
        found: dict[str, None] = {}
        for _, one in self.holds(namespace):
            if one.names is None:
                return None if not self.requirement.names else self.requirement.names
            found.update(dict.fromkeys(one.names))
        return tuple(name for name in found if not self.requirement.names or name in self.requirement.names)

    def sources(self, namespace: str, name: str = "") -> tuple[GrantSource, ...]:
        """The grants that each meet it alone, in a namespace for a name (empty: for any)."""
        return tuple(
            dict.fromkeys(
                one.source
                for _, one in self.holds(namespace)
                if one.source is not None and (not name or one.names is None or name in one.names)
            )
        )

    def free(self, namespace: str, name: str = "") -> bool:
        """True if rules reached on the way meet it, so that no grant is needed."""
        return any(
            one.source is None and (not name or one.names is None or name in one.names)
            for _, one in self.holds(namespace)
        )


def meet_requirement(requirement: Requirement, held: HeldPermissions) -> MetRequirement | None:
    """The match of held permissions with a requirement, or None."""
    found: dict[str, list[tuple[Permission, HeldPermission]]] = {}
    for option in requirement.any_of:
        for one in held.get(option.permission, ()):
            if one.namespace and (option.cluster or (requirement.namespace and one.namespace != requirement.namespace)):
                continue
            if requirement.names and one.names is not None and not set(requirement.names) & set(one.names):
                continue
            place = EVERYWHERE if not one.namespace else one.namespace
            found.setdefault(place, []).append((option.permission, one))
    return MetRequirement(requirement, found) if found else None


def common_namespaces(met: Iterable[MetRequirement]) -> Iterator[str]:
    """The namespaces in which all requirements are met: ``*`` alone if they are met in all, else each."""
    listed = list(met)
    fixed = {met.requirement.namespace for met in listed if met.requirement.namespace}
    if len(fixed) > 1:
        return
    if fixed:
        yield from (place for place in fixed if all(met.holds(place) for met in listed))
        return
    if all(EVERYWHERE in met.by_namespace for met in listed):
        yield EVERYWHERE
        # Names may be more in single namespaces than everywhere.
        if all(met.names(EVERYWHERE) is None for met in listed):
            return
    places = dict.fromkeys(place for met in listed for place in met.by_namespace if place != EVERYWHERE)
    for place in places:
        if all(met.holds(place) for met in listed):
            yield place
