"""Writes the condition Dangling into the status of FlowSchemas.

Upstream: k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go, release 1.30.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote

from simkit.engine.seams import Change
from simkit.logic.workloads.status_conditions import find
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import api_group
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, name_of
from simkit.schema.catalogue import Catalogue, Resource
from simkit.snapshot.protocol import Snapshot

_GROUP: Final = api_group("flowcontrol.apiserver")
_SCHEMAS: Final = GroupResource(_GROUP, "flowschemas")
_LEVELS: Final = GroupResource(_GROUP, "prioritylevelconfigurations")
FOLLOWED: Final = (_SCHEMAS, _LEVELS)
"""The resources on whose objects the statuses rest."""
_MANAGER: Final = "api-priority-and-fairness-config-consumer-v1"


class FlowSchemaStatusController:
    """Keeps the condition Dangling of every FlowSchema, inside the server, before any request is answered.

    Parameters
    ----------
    perform
        Sends a request as the server itself.
    """

    def __init__(
        self,
        catalogue: Callable[[], Catalogue],
        snapshot: Callable[[], Snapshot],
        perform: Callable[[Request], object],
        clock: Clock,
    ) -> None:
        self._catalogue, self._snapshot, self._perform, self._clock = catalogue, snapshot, perform, clock
        self._known, self._news = False, threading.Lock()
        self._schemas: dict[str, None] = {}
        """The names of schemas that were written."""
        self._levels: set[str] = set()
        """The names of priority levels that came or went."""

    def follow(self, changes: Sequence[Change]) -> None:
        """Hear that flow schemas were written, or the priority levels that they may name."""
        with self._news:
            for change in changes:
                if change.entry.key.resource == _SCHEMAS:
                    self._schemas[change.entry.key.name] = None
                elif change.type in ("ADDED", "DELETED"):
                    self._levels.add(change.entry.key.name)

    def settle(self) -> None:
        """Write the conditions that are not as they should be, if anything was written.

        The first time all schemas are looked at, later those that were written or name a level that came or went.
        """
        if not self._schemas and not self._levels:
            return
        with self._news:
            written, self._schemas = self._schemas, {}
            levels, self._levels = self._levels, set()
        served = self._catalogue().preferred(_SCHEMAS)
        if served is None:
            return
        snapshot = self._snapshot()
        if not self._known or levels:
            found = list(snapshot.scan(_SCHEMAS))
            if self._known:
                found = [each for each in found if _level(each) in levels or name_of(each) in written]
        else:
            found = [each for each in (snapshot.get(_SCHEMAS, name) for name in written) if each is not None]
        self._known = True
        for schema in found:
            condition = self._condition(schema, snapshot)
            if condition is not None:
                self._perform(_report(served, schema, condition))

    def _condition(self, schema: Object, snapshot: Snapshot) -> Object | None:
        """The condition that a schema should have, None where it has it."""
        status, reason, message = self._found(schema, snapshot)
        now = find(at(schema, "status", "conditions"), "Dangling") or {}
        if (now.get("status"), now.get("reason"), now.get("message")) == (status, reason, message):
            return None
        since = now.get("lastTransitionTime") if now.get("status") == status else None
        changed = since or timestamp(self._clock.now())
        texts = {"status": status, "lastTransitionTime": changed, "reason": reason, "message": message}
        return {"type": "Dangling", **texts}

    @staticmethod
    def _found(schema: Object, snapshot: Snapshot) -> tuple[str, str, str]:
        """Status, reason and message of the condition."""
        level = _level(schema)
        named = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
        if snapshot.get(_LEVELS, level) is not None:
            return "False", "Found", f"{named} and it exists"
        return "True", "NotFound", f"{named} but there is no such object"


def _level(schema: Object) -> str:
    return at(schema, "spec", "priorityLevelConfiguration", "name") or ""


def _report(served: Resource, schema: Object, condition: Object) -> Request:
    body = {
        "apiVersion": served.api_version,
        "kind": "FlowSchema",
        "metadata": {"name": name_of(schema)},
        "status": {"conditions": [condition]},
    }
    path = f"{served.path}/{_SCHEMAS.resource}/{quote(name_of(schema))}/status"
    target = f"{path}?fieldManager={_MANAGER}&force=true"
    return Request.of("PATCH", target, body, content_type="application/apply-patch+yaml")
