"""Aggregated roles, and the roles that their rules come from and are written in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from simkit.analysis.escalation.find.graph import derive_graph
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.default_objects import derive_unchanged
from simkit.analysis.rbac.index import derive_index
from simkit.analysis.rbac.tables import BOOTSTRAP_LABEL, BOOTSTRAP_VALUE
from simkit.logic.rbac.aggregate import is_aggregated, with_aggregated_rules
from simkit.logic.rbac.binding import CLUSTER_ROLES, RESOURCES_OF_KINDS, ROLES, key_of
from simkit.meta import labels
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of, name_of, namespace_of
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.overlay import OverlaySnapshot


class RoleAggregation:
    """The roles of a snapshot that each aggregated role is filled from."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._roles = {name_of(role): role for role in snapshot.scan(CLUSTER_ROLES)}
        self._names: Callable[[str], tuple[str, ...]] = cache(
            lambda name: tuple(dict.fromkeys(self._leaves(name, set())))
        )
        self.fixed = frozenset(
            key_of(role, resource)
            for resource in (CLUSTER_ROLES, ROLES)
            for role in snapshot.scan(resource)
            if labels_of(role).get(BOOTSTRAP_LABEL) == BOOTSTRAP_VALUE or is_aggregated(role)
        )
        """Roles that must not be rewritten: default roles, and roles that a controller fills."""

    def parts(self, role: Key) -> tuple[Key, ...]:
        """The roles that an aggregated role is filled from in the end; a role that is not aggregated gives itself."""
        if role.resource != CLUSTER_ROLES or not is_aggregated(self._roles.get(role.name, {})):
            return (role,)
        return tuple(Key(CLUSTER_ROLES, "", name) for name in self._names(role.name))

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
        return (part, *self._wholes.get(part, ()))

    @cached_property
    def _wholes(self) -> Mapping[Key, Sequence[Key]]:
        found: dict[Key, list[Key]] = defaultdict(list)
        for name, role in self._roles.items():
            if is_aggregated(role):
                whole = Key(CLUSTER_ROLES, "", name)
                for part in self.parts(whole):
                    found[part].append(whole)
        return found

    def gathers(self, role: Object) -> bool:
        """True if a cluster role is aggregated, or an aggregated one takes its rules by its labels."""
        if is_aggregated(role):
            return True
        written = labels_of(role)
        return any(one.matches(written) for one in self._selectors)

    @cached_property
    def _selectors(self) -> Sequence[labels.LabelSelector]:
        return [
            labels.of_object(entry)
            for role in self._roles.values()
            for entry in at(role, "aggregationRule", "clusterRoleSelectors") or ()
        ]


_aggregations: SnapshotMemo[RoleAggregation] = SnapshotMemo()


def aggregation_of(snapshot: Snapshot) -> RoleAggregation:
    """The aggregated roles of a snapshot, worked out once; after a change that leaves them alike they are the same."""
    return _aggregations.of(snapshot, RoleAggregation)


def as_settled(base: Snapshot, put: Iterable[Object], gone: Iterable[Key]) -> Snapshot:
    """A snapshot with objects put and removed, and its aggregated roles as the controller would fill them."""
    changed, removed = list(put), list(gone)
    after = OverlaySnapshot(base, changed, removed)
    aggregation = aggregation_of(base)
    alike = all(_keeps_its_place(base, obj) for obj in changed)
    if not alike or any(obj.get("kind") == "ClusterRole" and aggregation.gathers(obj) for obj in changed):
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
    if alike and not any(key.resource in (ROLES, CLUSTER_ROLES) for key in removed):
        _aggregations.of(after, lambda _: aggregation)
    derive_index(base, after, changed, removed)
    derive_unchanged(base, after, after.covered)
    derive_graph(base, after, after.covered)
    return after


def _keeps_its_place(base: Snapshot, obj: Object) -> bool:
    """True if an object is no role, or one whose labels and selectors are as they were, so that the same roles gather
    it.
    """
    resource = RESOURCES_OF_KINDS.get(str(obj.get("kind")))
    if resource not in (ROLES, CLUSTER_ROLES):
        return True
    known = base.get(resource, name_of(obj), namespace_of(obj)) or {}
    if resource == ROLES:
        return labels_of(obj).get(BOOTSTRAP_LABEL) == labels_of(known).get(BOOTSTRAP_LABEL)
    same = labels_of(obj) == labels_of(known) and obj.get("aggregationRule") == known.get("aggregationRule")
    return bool(known) and same
