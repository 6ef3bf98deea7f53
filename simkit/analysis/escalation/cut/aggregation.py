"""Aggregated roles, and the roles that their rules come from and are written in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from simkit.analysis.escalation.find.graph import derive_graph
from simkit.analysis.rbac.index import derive_index
from simkit.analysis.rbac.tables import BOOTSTRAP_LABEL, BOOTSTRAP_VALUE
from simkit.logic.rbac.aggregate import is_aggregated, with_aggregated_rules
from simkit.logic.rbac.binding import CLUSTER_ROLES, ROLES, key_of
from simkit.meta import labels
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of, name_of
from simkit.snapshot.overlay import OverlaySnapshot
from simkit.snapshot.protocol import Snapshot


class RoleAggregation:
    """The roles of a snapshot that each aggregated role is filled from."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._roles = {name_of(role): role for role in snapshot.scan(CLUSTER_ROLES)}
        self._parts: dict[str, tuple[str, ...]] = {}

    @cached_property
    def fixed(self) -> frozenset[Key]:
        """Roles that must not be rewritten: default roles, and roles that a controller fills."""
        return frozenset(
            key_of(role, resource)
            for resource in (CLUSTER_ROLES, ROLES)
            for role in self._snapshot.scan(resource)
            if labels_of(role).get(BOOTSTRAP_LABEL) == BOOTSTRAP_VALUE or is_aggregated(role)
        )

    def parts(self, role: Key) -> tuple[Key, ...]:
        """The roles that an aggregated role is filled from in the end; a role that is not aggregated gives itself."""
        if role.resource != CLUSTER_ROLES or not is_aggregated(self._roles.get(role.name, {})):
            return (role,)
        known = self._parts.get(role.name)
        if known is None:
            known = self._parts[role.name] = tuple(dict.fromkeys(self._leaves(role.name, set())))
        return tuple(Key(CLUSTER_ROLES, "", name) for name in known)

    def _leaves(self, name: str, seen: set[str]) -> Iterator[str]:
        if name in seen:
            return
        seen.add(name)
        role = self._roles.get(name, {})
        if not is_aggregated(role):
            yield name
            return
        for entry in at(role, "aggregationRule", "clusterRoleSelectors") or ():
            selector = labels.of_object(entry)
            for other, obj in self._roles.items():
                if other != name and selector.matches(labels_of(obj)):
                    yield from self._leaves(other, seen)

    def wholes(self, part: Key) -> tuple[Key, ...]:
        """The role itself, and all aggregated roles that include its rules."""
        return (part, *(key for key in self._aggregated if part in self.parts(key)))

    @cached_property
    def _aggregated(self) -> tuple[Key, ...]:
        return tuple(Key(CLUSTER_ROLES, "", name) for name, role in self._roles.items() if is_aggregated(role))


def as_settled(base: Snapshot, put: Iterable[Object], gone: Iterable[Key]) -> Snapshot:
    """A snapshot with objects put and removed, and its aggregated roles as the controller would fill them."""
    changed, removed = list(put), list(gone)
    after = OverlaySnapshot(base, changed, removed)
    if any(_may_be_gathered(base, obj) for obj in changed):
        roles = list(after.scan(CLUSTER_ROLES))
        before = {name_of(role): role.get("rules") for role in roles}
        refilled = [
            one
            for one in with_aggregated_rules(roles)
            if is_aggregated(one) and one.get("rules") != before[name_of(one)]
        ]
        if refilled:
            changed += refilled
            after = OverlaySnapshot(base, changed, removed)
    derive_index(base, after, changed, removed)
    derive_graph(base, after, after.covered)
    return after


def _may_be_gathered(base: Snapshot, obj: Object) -> bool:
    """True if a changed object may change what another role gathers: a cluster role with labels, now or before."""
    if obj.get("kind") != "ClusterRole":
        return False
    known = base.get(CLUSTER_ROLES, name_of(obj))
    return bool(is_aggregated(obj) or labels_of(obj) or (known is not None and labels_of(known)))
