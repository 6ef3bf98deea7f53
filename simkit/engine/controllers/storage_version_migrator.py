"""Rewrites all objects of a resource, as a StorageVersionMigration asks for.

Upstream: pkg/controller/storageversionmigrator, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.lister import Lister
from simkit.client.requests import keys_of
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.work_queue import RequeueError
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import api_group
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.schema.catalogue import Catalogue, Resource

MIGRATIONS: Final = GroupResource(api_group("storagemigration"), "storageversionmigrations")
_MERGE: Final = "application/merge-patch+json"
_MOVED_ON: Final = (404, 409)
"""Answers about an object that went, or that somebody else has just written: it is stored anew already."""
_OVER: Final = ("Succeeded", "Failed")


class StorageVersionMigrator(ResourceWatcher):
    """Patches every object with nothing, which stores it in the present storage version."""

    name = account = "storage-version-migrator-controller"

    def __init__(self, catalogue: Callable[[], Catalogue], clock: Clock) -> None:
        super().__init__(MIGRATIONS)
        self._catalogue, self._clock = catalogue, clock

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        served = self._catalogue().preferred(MIGRATIONS)
        return keys_of(MIGRATIONS, lister.scan(MIGRATIONS)) if served is not None else ()

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        served = self._catalogue().preferred(MIGRATIONS)
        migration = lister.get(key) if served is not None else None
        if served is None or migration is None or any(_holds(migration, condition) for condition in _OVER):
            return None
        migration = self._told(client, served, migration, "Running")
        wanted = at(migration, "spec", "resource") or {}
        names = (str(wanted.get(part) or "") for part in ("group", "version", "resource"))
        resource = self._catalogue().find(*names)
        if resource is None or not resource.stored:
            self._told(client, served, migration, "Failed", "resource does not exist")
            return None
        listed = client.perform(Request.of("GET", f"{resource.path}/{resource.resource}"))
        problem = self._migrate(client, resource, listed.object) if listed.succeeded else _message(listed.object)
        if problem:
            self._told(client, served, migration, "Failed", problem)
        else:
            version = at(listed.object, "metadata", "resourceVersion")
            self._told(client, served, {**migration, "status": {**_status(migration), "resourceVersion": version}})
        return None

    @staticmethod
    def _migrate(client: Client, resource: Resource, listed: Object) -> str:
        """The reason why an object was not written; empty when all were."""
        for obj in listed.get("items") or ():
            scope = f"/namespaces/{namespace_of(obj)}" if resource.namespaced else ""
            meta = {name: metadata(obj).get(name) for name in ("uid", "resourceVersion")}
            path = f"{resource.path}{scope}/{resource.resource}/{name_of(obj)}"
            answer = client.perform(Request.of("PATCH", path, {"metadata": meta}, content_type=_MERGE))
            if not answer.succeeded and answer.status not in _MOVED_ON:
                return _message(answer.object)
        return ""

    def _told(
        self, client: Client, served: Resource, migration: Object, condition: str = "Succeeded", message: str = ""
    ) -> Object:
        """The migration with a condition that is true from now on, written into its status."""
        if _holds(migration, condition):
            return migration
        now = timestamp(self._clock.now())
        others = [
            {**each, "status": "False", "lastUpdateTime": now} if each["type"] == "Running" else each
            for each in _status(migration).get("conditions") or ()
        ]
        added = {
            "type": condition,
            "status": "True",
            "lastUpdateTime": now,
            "reason": f"StorageVersionMigration{condition}",
        }
        if message:
            added["message"] = message
        status = {**_status(migration), "conditions": [*others, added]}
        path = f"{served.path}/{served.resource}/{name_of(migration)}/status"
        answer = client.perform(Request.of("PUT", path, {**migration, "status": status}))
        if not answer.succeeded:
            raise RequeueError(f"{answer.status}: {_message(answer.object)}")
        written: Object = answer.object
        return written


def _status(migration: Object) -> Mapping[str, Any]:
    return migration.get("status") or {}


def _holds(migration: Object, condition: str) -> bool:
    conditions = _status(migration).get("conditions") or ()
    return any(each.get("type") == condition and each.get("status") == "True" for each in conditions)


def _message(answer: Any) -> str:
    return str(answer.get("message", "")) if isinstance(answer, Mapping) else ""
