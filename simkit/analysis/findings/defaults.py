"""Which roles and bindings are the server's own, as it makes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from simkit.analysis.rbacobjects import RBAC
from simkit.logic.rbac.binding import CLUSTER_ROLES, Binding, key_of
from simkit.logic.rbac.rule import rules_of
from simkit.meta import data
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from simkit.snapshot.protocol import Snapshot

RESOURCES: Final[Mapping[str, GroupResource]] = {
    "ClusterRole": RBAC[0],
    "ClusterRoleBinding": RBAC[1],
    "Role": RBAC[2],
    "RoleBinding": RBAC[3],
}


@cache
def default_objects(release: str) -> Mapping[Key, Object]:
    """The roles and bindings that a server of the release makes at its start, by key."""
    listed = data.load(f"rbac/default-objects-{release}.json")
    return {key_of(obj, RESOURCES[obj["kind"]]): obj for obj in listed}


def unchanged_defaults(snapshot: Snapshot) -> frozenset[Key]:
    """The keys of those roles and bindings in the snapshot that are as the server made them.

    A default role whose rules are collected from others counts as changed where they were extended. One that carries
    the label of the defaults, but not their content, is not a default.
    """
    known = default_objects(snapshot.release)
    found = set()
    for resource in RBAC:
        for obj in snapshot.scan(resource):
            key = key_of(obj, resource)
            if key in known and _same(key, obj, known):
                found.add(key)
    return frozenset(found)


def _same(key: Key, obj: Object, known: Mapping[Key, Object]) -> bool:
    default = known[key]
    if "roleRef" in default:
        mine, theirs = Binding.of(key, obj), Binding.of(key, default)
        return mine.role == theirs.role and set(mine.subjects) == set(theirs.subjects)
    if default.get("aggregationRule"):
        parts = _collected(default, known)
        return obj.get("aggregationRule") == default["aggregationRule"] and set(rules_of(obj)) <= parts
    return set(rules_of(obj)) == set(rules_of(default))


def _collected(role: Object, known: Mapping[Key, Object]) -> set[object]:
    """The rules that an aggregated default role collects from the other defaults."""
    wanted = [selector.get("matchLabels") or {} for selector in role["aggregationRule"]["clusterRoleSelectors"]]
    found: set[object] = set()
    for key, other in known.items():
        labels = (other.get("metadata") or {}).get("labels") or {}
        if key.resource == CLUSTER_ROLES and any(labels.items() >= one.items() for one in wanted):
            found |= set(rules_of(other))
            if other is not role and other.get("aggregationRule"):
                found |= _collected(other, known)
    return found
