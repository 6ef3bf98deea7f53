"""Counts the usage of ResourceQuotas.

Upstream: pkg/controller/resourcequota, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from simkit.engine.controllers.client_requests import keys_of, replace_status
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resources import QUOTAS
from simkit.engine.seams import Change
from simkit.logic.quota.calculate import counted, used
from simkit.meta.clock import Clock
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, namespace_of
from simkit.meta.resource_list import quantity_texts, resource_list_of
from simkit.schema.catalogue import Catalogue


class ResourceQuotaController:
    """Reconciles the quotas of namespaces that have any, and looks at no others."""

    name = account = "resourcequota-controller"
    watches = frozenset({QUOTAS})

    def __init__(self, catalogue: Callable[[], Catalogue], clock: Clock) -> None:
        self._catalogue, self._clock = catalogue, clock
        self._limited: set[str] = set()

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        if key.resource == QUOTAS:
            self._limited.add(key.namespace)
        return key.namespace in self._limited

    def resume_from(self, other: Any) -> None:
        self._limited = set(other._limited)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource == QUOTAS and change.type == "MODIFIED":
            return [key]
        quotas = lister.scan(QUOTAS, key.namespace)
        if not quotas:
            self._limited.discard(key.namespace)
        counting = [each for each in quotas if key.resource in counted(at(each, "spec", "hard") or ())]
        return [*keys_of(QUOTAS, counting), *([key] if key.resource == QUOTAS else [])]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        found = lister.scan(QUOTAS)
        self._limited = set(map(namespace_of, found))
        return keys_of(QUOTAS, found)

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        quota = lister.get(key)
        if quota is None:
            return
        hard = resource_list_of(at(quota, "spec", "hard"))

        def objects(resource: GroupResource) -> Iterable[Object]:
            found = self._catalogue().preferred(resource)
            return lister.scan(found.storage, key.namespace) if found is not None else ()

        counts = used(quota, list(hard), objects, self._clock.now())
        before = resource_list_of(at(quota, "status", "used"))
        wanted = {name: amount for name, amount in {**before, **counts}.items() if name in hard}
        if wanted == before and resource_list_of(at(quota, "status", "hard")) == hard and at(quota, "status", "hard"):
            return
        replace_status(client, QUOTAS, quota, {"hard": quantity_texts(hard), "used": quantity_texts(wanted)})
