"""Keeps the ControllerRevisions of a workload: creates, adopts, renumbers and truncates them.

Upstream: pkg/controller/history, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from simkit.engine.controllers.client_requests import create, expect, remove, replace
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.controller_refs import ClaimRules, claim, selector_of
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resources import PODS, REVISIONS
from simkit.engine.controllers.work_queue import RequeueError
from simkit.logic.workloads import revisions as history
from simkit.logic.workloads.pods import owner_reference
from simkit.meta.objects import Object, at, metadata, name_of

_TRIES = 16


class WorkloadHistory(NamedTuple):
    """The revisions and pods that a workload owns, with the revision of its present template."""

    reference: Mapping[str, Any]
    """The owner reference to the workload."""
    revisions: Sequence[Object]
    pods: Sequence[Object]
    update: Object
    """The revision of its template."""


def claim_history(
    client: Client, lister: Lister, owner: Object, kind: str, member: Callable[[Object], bool]
) -> WorkloadHistory | None:
    """The objects of a workload whose pods have to be something besides selected.

    None: something was taken in, let go or made just now, and is to be seen first.
    """
    reference, selector = owner_reference("apps/v1", kind, owner), selector_of(owner)
    revisions = claim(client, lister, REVISIONS, owner, reference, ClaimRules(selector))
    pods = claim(client, lister, PODS, owner, reference, ClaimRules(selector, member))
    if revisions is None or pods is None:
        return None
    update = current_revision(client, owner, reference, revisions)
    return WorkloadHistory(reference, revisions, pods, update) if update is not None else None


def current_revision(
    client: Client, owner: Object, reference: Mapping[str, Any], known: Sequence[Object]
) -> Object | None:
    """The revision of the owner's template. None: it was made or renumbered just now, and is to be seen first."""
    last = history.ordered(known)[-1:]
    number = (last[0].get("revision") or 0) if last else 0
    found = history.present(owner, known)
    if found is None:
        _make(client, owner, reference, number + 1)
        return None
    if found.get("revision") != number:  # an old template has come back
        expect(replace(client, REVISIONS, {**found, "revision": number + 1}), 404, 409)
        return None
    return found


def _make(client: Client, owner: Object, reference: Mapping[str, Any], number: int) -> None:
    collisions = at(owner, "status", "collisionCount") or 0
    for more in range(_TRIES):
        made = history.made(owner, reference, number, collisions + more)
        response = create(client, REVISIONS, metadata(owner)["namespace"], made)
        if response.succeeded:
            return
        if response.status != 409:
            raise RequeueError(str(response.object.get("message")))
    raise RequeueError(f"no name is left for a revision of {name_of(owner)}")


def truncate_history(
    client: Client, owner: Object, known: Sequence[Object], used: Collection[str], *, counted: int = 0
) -> None:
    """Remove the oldest revisions that nothing uses, beyond those that the owner keeps.

    ``counted``: as many that are used take up room among these.
    """
    limit = at(owner, "spec", "revisionHistoryLimit")
    if limit is not None and limit < 0:
        return  # a mistake that the server takes: everything is kept
    unused = [each for each in history.ordered(known) if name_of(each) not in used]
    for each in unused[: max(0, len(unused) + counted - (10 if limit is None else limit))]:
        remove(client, REVISIONS, each)
