"""The default roles and bindings that the server creates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from simkit.analysis.rbac.objects import RBAC
from simkit.logic.rbac.aggregate import is_aggregated, with_aggregated_rules
from simkit.logic.rbac.binding import CLUSTER_ROLES, RESOURCES_OF_KINDS, SERVICE_ACCOUNT, Binding, Subject, key_of
from simkit.logic.rbac.defaults import default_objects
from simkit.logic.rbac.rule import rules_of
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.snapshot.protocol import Snapshot


@cache
def settled_defaults(release: str) -> Mapping[Key, Object]:
    """The roles and bindings of a server of the release soon after its start, by key."""
    made = {key_of(obj, RESOURCES_OF_KINDS[obj["kind"]]): obj for obj in default_objects(release)}
    roles = with_aggregated_rules(obj for key, obj in made.items() if key.resource == CLUSTER_ROLES)
    return {**made, **{key_of(role, CLUSTER_ROLES): role for role in roles}}


def unchanged_defaults(snapshot: Snapshot) -> frozenset[Key]:
    """The keys of unchanged default roles and bindings in the snapshot.

    A default role whose rules are collected from others counts as changed where they were extended. One that carries
    the label of the defaults, but not their content, is not a default.
    """
    known = settled_defaults(snapshot.release)
    stored = ((key_of(obj, resource), obj) for resource in RBAC for obj in snapshot.scan(resource))
    return frozenset(key for key, obj in stored if key in known and _same(key, obj, known[key]))


@cache
def control_plane(release: str) -> frozenset[Subject]:
    """The service accounts in default bindings: their controllers run outside of pods."""
    bindings = (Binding.of(key, obj) for key, obj in settled_defaults(release).items() if "roleRef" in obj)
    return frozenset(one for each in bindings for one in each.subjects if one.kind == SERVICE_ACCOUNT)


def _same(key: Key, obj: Object, default: Object) -> bool:
    if "roleRef" in default:
        mine, theirs = Binding.of(key, obj), Binding.of(key, default)
        return mine.role == theirs.role and set(mine.subjects) == set(theirs.subjects)
    if is_aggregated(default):
        settling = not obj.get("rules")
        same_rule = obj.get("aggregationRule") == default["aggregationRule"]
        return same_rule and (settling or set(rules_of(obj)) == set(rules_of(default)))
    return set(rules_of(obj)) == set(rules_of(default))
