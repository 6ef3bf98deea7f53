"""Changes of objects, made on a cluster as an administrator, with what the aggregation controller does after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from simkit.client.requests import path_of
from simkit.logic.rbac.aggregate import CONTROLLER, is_aggregated, with_aggregated_rules
from simkit.logic.rbac.binding import CLUSTER_ROLES
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator, service_account
from simkit.meta.message import Request, Response
from simkit.meta.names import Key
from simkit.meta.objects import name_of
from simkit.seams.snapshot import Sandbox

MERGE: Final = "application/merge-patch+json"


@dataclass(frozen=True)
class Change:
    """An object to write or, if None, to delete."""

    key: Key
    obj: Mapping[str, Any] | None


def apply(sandbox: Sandbox, changes: Iterable[Change]) -> None:
    """Write and delete objects as an administrator.

    Parameters
    ----------
    sandbox
        The cluster that is changed.
    changes
        The changes, in order.

    Raises
    ------
    SimkitError
        For the first change that the cluster refuses.
    """
    for change in changes:
        answer = write(sandbox, change)
        if not answer.succeeded:
            key = change.key
            raise SimkitError(f"{key.resource} {key.name} was refused: {answer.body.decode('utf-8', 'replace')[:300]}")
    for _ in aggregate_roles(sandbox):
        pass


def write(sandbox: Sandbox, change: Change) -> Response:
    """The answer to a change, made by an administrator."""
    resource, namespace, name = change.key
    method = "DELETE" if change.obj is None else "PUT"
    path = path_of(resource, namespace, name)
    answer = sandbox.perform(Request.of(method, path, change.obj), identity=administrator())
    if change.obj is not None and answer.status == 404:
        path = path_of(resource, namespace)
        answer = sandbox.perform(Request.of("POST", path, change.obj), identity=administrator())
    return answer


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
        path = path_of(CLUSTER_ROLES, name=name_of(role))
        request = Request.of("PATCH", path, {"rules": role.get("rules") or []}, content_type=MERGE)
        answer, who = sandbox.perform(request, identity=account), account.user
        if answer.status == 403:
            answer, who = sandbox.perform(request, identity=administrator()), f"{who}, played by an administrator"
        yield path, answer, who
