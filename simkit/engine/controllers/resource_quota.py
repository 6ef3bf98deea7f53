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
from simkit.engine.controllers.lister import Lister, uid_of
from simkit.engine.controllers.resources import DEVICE_CLASSES, PODS, QUOTAS
from simkit.engine.seams import Change
from simkit.logic.quota.calculate import counted, total_usage, used
from simkit.logic.quota.device_claims import RESOURCE_CLAIMS, BackedResources, backed_resources, controlling_pod
from simkit.logic.quota.scopes import Scope
from simkit.meta.behaviour import ServedBehaviour, serving
from simkit.meta.clock import Clock
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, namespace_of
from simkit.meta.resource_list import ResourceList, quantity_texts, resource_list_of
from simkit.schema.catalogue import Catalogue


def _by_resource(quotas: Iterable[Object], backed: BackedResources) -> Mapping[GroupResource, Sequence[Key]]:
    """The keys of quotas by the resources that they count."""
    found: dict[GroupResource, list[Key]] = {}
    for quota in quotas:
        for resource in counted(at(quota, "spec", "hard") or (), backed):
            found.setdefault(resource, []).append(key_of(QUOTAS, quota))
    return found


def _backed(lister: Lister) -> BackedResources:
    """The extended resources that devices back, found once for a lister."""

    def classes() -> Sequence[Object]:
        return lister.scan(DEVICE_CLASSES) if DEVICE_CLASSES in lister.snapshot.captured() else ()

    def pod_of(claim: Object) -> Object | None:
        owner = controlling_pod(claim)
        pod = lister.get(Key(PODS, namespace_of(claim), str(owner.get("name")))) if owner else None
        return pod if pod is not None and uid_of(pod) == owner.get("uid") else None

    def claims_of(pod: Object) -> Sequence[Object]:
        return lister.controlled(RESOURCE_CLAIMS, namespace_of(pod), uid_of(pod))

    return lister.once(backed_resources, lambda: backed_resources(classes, pod_of, claims_of))


class ResourceQuotaController:
    """Reconciles the quotas of namespaces that have any, and looks at no others."""

    name = account = "resourcequota-controller"
    watches = frozenset({QUOTAS})

    def __init__(self, catalogue: Callable[[], Catalogue], clock: Clock, behaviour: ServedBehaviour) -> None:
        self._catalogue, self._clock, self._behaviour = catalogue, clock, behaviour
        self._limited: set[str] = set()

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        if key.resource == QUOTAS:
            self._limited.add(key.namespace)
        return key.namespace in self._limited

    def resume_from(self, other: Any) -> None:
        self._limited = set(other._limited)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        with serving(self._behaviour):
            return self._affected(change, lister)

    def _affected(self, change: Change, lister: Lister) -> Iterable[Key]:
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
        counting = lister.once((counted, key.namespace), lambda: _by_resource(quotas, _backed(lister))).get(
            key.resource, []
        )
        return [*counting, *own]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        found = lister.scan(QUOTAS)
        self._limited = set(map(namespace_of, found))
        return keys_of(QUOTAS, found)

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        with serving(self._behaviour):
            self._sync(client, lister, key)

    def _sync(self, client: Client, lister: Lister, key: Key) -> None:
        quota = lister.get(key)
        if quota is None:
            return
        hard, backed = resource_list_of(at(quota, "spec", "hard")), _backed(lister)

        def totals(resource: GroupResource, scopes: Sequence[Scope]) -> ResourceList:
            found = self._catalogue().preferred(resource)
            if found is None:
                return {}
            objects, now = partial(lister.scan, found.storage, key.namespace), self._clock.now()
            kept = (total_usage, resource, key.namespace, orjson.dumps(scopes))
            return lister.once(kept, lambda: total_usage(resource, scopes, objects(), now, backed))

        counts = used(quota, list(hard), totals, backed)
        before = resource_list_of(at(quota, "status", "used"))
        wanted = {name: amount for name, amount in {**before, **counts}.items() if name in hard}
        if wanted == before and resource_list_of(at(quota, "status", "hard")) == hard and at(quota, "status", "hard"):
            return
        replace_status(client, QUOTAS, quota, {"hard": quantity_texts(hard), "used": quantity_texts(wanted)})
