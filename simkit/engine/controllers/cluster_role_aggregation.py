"""Fills aggregated cluster roles with the rules of the roles that they select.

Upstream: pkg/controller/clusterroleaggregation, release 1.30.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from simkit.client.controller import Client
from simkit.client.lister import Lister
from simkit.logic.rbac.aggregate import CONTROLLER, aggregated_rules, is_aggregated
from simkit.logic.rbac.binding import CLUSTER_ROLES
from simkit.logic.rbac.rule import rules_of
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, name_of
from simkit.seams import Change


class ClusterRoleAggregationController:
    """Applies the union of the selected rules to each aggregated cluster role whose rules differ.

    It applies no rules at all where its selectors find none. So rules that somebody else wrote stay, and rules that
    only this controller wrote go.
    """

    name = account = CONTROLLER
    watches: frozenset[GroupResource] = frozenset()

    def __init__(self) -> None:
        self._sync: weakref.ref[Lister] | None = None
        self._applied: dict[str, Sequence[Object]] = {}
        """The rules that this sync has applied, by role: its lister shows what was before."""

    def concerns(self, change: Change) -> bool:
        """True for cluster roles, since any may be part of another one."""
        return change.entry.key.resource == CLUSTER_ROLES

    def resume_from(self, other: Any) -> None:
        """No effect: a fork needs no state."""

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        """All aggregated roles."""
        return self.all_keys(lister)

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return [Key(CLUSTER_ROLES, "", name_of(role)) for role in lister.scan(CLUSTER_ROLES) if is_aggregated(role)]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        """Apply rules that differ. Roles that aggregate aggregated ones settle after some rounds."""
        role = lister.get(key)
        if role is not None:
            rules = aggregated_rules(role, self._as_applied(lister))
            if rules_of({"rules": rules}) != rules_of(role):
                answer = client.perform(_apply(name_of(role), rules))
                if answer.succeeded:  # without rules in the apply, those of other field managers stay
                    self._applied[name_of(role)] = answer.object.get("rules") or ()
        return None

    def _as_applied(self, lister: Lister) -> list[Object]:
        """All cluster roles with what this sync has applied: two roles that gather from each other would swap else."""
        if self._sync is None or self._sync() is not lister:
            self._sync, self._applied = weakref.ref(lister), {}
        roles = lister.scan(CLUSTER_ROLES)
        if not self._applied:
            return list(roles)
        applied = self._applied
        return [{**role, "rules": applied[name_of(role)]} if name_of(role) in applied else role for role in roles]


def _apply(name: str, rules: list[dict[str, object]]) -> Request:
    intent: Object = {"apiVersion": f"{RBAC_GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    path = f"/apis/{RBAC_GROUP}/v1/clusterroles/{quote(name, safe=':')}?fieldManager={CONTROLLER}&force=true"
    body = {**intent, "rules": rules} if rules else intent
    return Request.of("PATCH", path, body, content_type="application/apply-patch+yaml")
