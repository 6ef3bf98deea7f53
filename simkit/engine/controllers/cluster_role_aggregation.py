"""Fills aggregated cluster roles with the rules of the roles that they select.

Upstream: pkg/controller/clusterroleaggregation, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.one_by_one import one_by_one
from simkit.engine.seams import Change
from simkit.logic.rbac.aggregate import gathered, is_aggregated
from simkit.logic.rbac.binding import CLUSTER_ROLES
from simkit.logic.rbac.rule import rules_of
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.message import Request
from simkit.meta.objects import Object, name_of
from simkit.snapshot.protocol import Snapshot

NAME: Final = "clusterrole-aggregation-controller"


class ClusterRoleAggregationController:
    """Applies the union of the selected rules to each aggregated cluster role whose rules differ.

    It applies no rules at all where its selectors find none. So rules that somebody else wrote stay, and rules that
    only this controller wrote go.
    """

    name = account = NAME
    next_time: float | None = None

    def concerns(self, change: Change) -> bool:
        """Any cluster role may be part of another one."""
        return change.entry.key.resource == CLUSTER_ROLES

    def reset_backoff(self) -> None:
        """It keeps none: every run looks at all roles."""

    def resume_from(self, other: Any) -> None:
        """Nothing is remembered that a fork would have to know."""

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        """Apply what differs. Roles that gather from gathering ones come to rest after some rounds."""
        roles = list(snapshot.scan(CLUSTER_ROLES))

        def apply(role: Object) -> None:
            rules = gathered(role, roles)
            if rules_of({"rules": rules}) != rules_of(role):
                client.perform(_apply(name_of(role), rules))

        one_by_one(filter(is_aggregated, roles), apply)


def _apply(name: str, rules: list[dict[str, object]]) -> Request:
    intent: Object = {"apiVersion": f"{RBAC_GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    path = f"/apis/{RBAC_GROUP}/v1/clusterroles/{quote(name, safe=':')}?fieldManager={NAME}&force=true"
    body = {**intent, "rules": rules} if rules else intent
    return Request.of("PATCH", path, body, content_type="application/apply-patch+yaml")
