"""The aggregation controller's work after a change, done in its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.logic.rbac.aggregate import CONTROLLER, is_aggregated, with_aggregated_rules
from simkit.logic.rbac.binding import CLUSTER_ROLES
from simkit.meta.domain import RBAC_GROUP, SYSTEM_NAMESPACE
from simkit.meta.identity import administrator, service_account
from simkit.meta.message import Request, Response
from simkit.meta.objects import name_of
from simkit.seams.snapshot import Sandbox

MERGE: Final = "application/merge-patch+json"


def aggregate_roles(sandbox: Sandbox) -> Iterator[tuple[str, Response, str]]:
    """The writes that fill aggregated roles: path, response, and author.

    Just this controller's work is done, and no other's: the rest of the cluster stays as it is. Where its account may
    not write, as in a cluster without the default roles, an administrator does it instead.
    """
    roles = list(sandbox.snapshot().scan(CLUSTER_ROLES))
    before = {name_of(role): role.get("rules") or [] for role in roles}
    account = service_account(SYSTEM_NAMESPACE, CONTROLLER)
    for role in with_aggregated_rules(roles):
        if not is_aggregated(role) or (role.get("rules") or []) == before[name_of(role)]:
            continue
        path = f"/apis/{RBAC_GROUP}/v1/clusterroles/{name_of(role)}"
        request = Request.of("PATCH", path, {"rules": role.get("rules") or []}, content_type=MERGE)
        answer, who = sandbox.perform(request, identity=account), account.user
        if answer.status == 403:
            answer, who = sandbox.perform(request, identity=administrator()), f"{who}, played by an administrator"
        yield path, answer, who
