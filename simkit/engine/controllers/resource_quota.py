"""Counts the usage of ResourceQuotas.

Upstream: pkg/controller/resourcequota, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from simkit.engine.controllers.client_requests import key_of, keys_of, replace_status
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resources import QUOTAS
from simkit.engine.seams import Change
from simkit.logic.quota.calculate import counted, total_usage, used
from simkit.logic.quota.scopes import Scope
from simkit.meta.clock import Clock
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, namespace_of
from simkit.meta.resource_list import ResourceList, quantity_texts, resource_list_of
from simkit.schema.catalogue import Catalogue


def _by_resource(quotas: Iterable[Object]) -> Mapping[GroupResource, Sequence[Key]]:
    """The keys of quotas by the resources that they count."""
    found: dict[GroupResource, list[Key]] = {}
    for quota in quotas:
        for resource in counted(at(quota, "spec", "hard") or ()):
            found.setdefault(resource, []).append(key_of(QUOTAS, quota))
    return found


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
        own = [key] if key.resource == QUOTAS else []
        told = lister.once(ResourceQuotaController, set[tuple[str, GroupResource]])
        if (key.namespace, key.resource) in told:  # by another change of this sync
            return own
        told.add((key.namespace, key.resource))
        counting = lister.once((counted, key.namespace), lambda: _by_resource(quotas)).get(key.resource, [])
        return [*counting, *own]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        found = lister.scan(QUOTAS)
        self._limited = set(map(namespace_of, found))
        return keys_of(QUOTAS, found)

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        quota = lister.get(key)
        if quota is None:
            return
        hard = resource_list_of(at(quota, "spec", "hard"))

        def totals(resource: GroupResource, scopes: Sequence[Scope]) -> ResourceList:
            found = self._catalogue().preferred(resource)
            if found is None:
                return {}
            objects, now = partial(lister.scan, found.storage, key.namespace), self._clock.now()
            kept = (total_usage, resource, key.namespace, orjson.dumps(scopes))
            return lister.once(kept, lambda: total_usage(resource, scopes, objects(), now))

        counts = used(quota, list(hard), totals)
        before = resource_list_of(at(quota, "status", "used"))
        wanted = {name: amount for name, amount in {**before, **counts}.items() if name in hard}
        if wanted == before and resource_list_of(at(quota, "status", "hard")) == hard and at(quota, "status", "hard"):
            return
        replace_status(client, QUOTAS, quota, {"hard": quantity_texts(hard), "used": quantity_texts(wanted)})
