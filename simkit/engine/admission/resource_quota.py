"""ResourceQuota charges created objects to the quotas of their namespace, and refuses what exceeds them.

Upstream: k8s.io/apiserver/pkg/admission/plugin/resourcequota, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.client.resources import DEVICE_CLASSES, NAMESPACES, QUOTAS
from simkit.engine.admission.plugin_attributes import (
    LOCAL_ACCESS_REVIEWS,
    WRITES,
    Handler,
    admission_forbidden,
    written,
)
from simkit.logic.quota.calculate import counts, fits, scopes_of
from simkit.logic.quota.device_claims import (
    NOTHING_BACKED,
    RESOURCE_CLAIMS,
    BackedResources,
    backed_resources,
    controlling_pod,
)
from simkit.logic.quota.usage import CLAIMS, PODS, SERVICES, matching, missing_resources, usage
from simkit.meta.clock import Clock
from simkit.meta.deadline import checked
from simkit.meta.errors import internal, unexplained
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.meta.resource_list import ResourceList, add, quantity_texts, resource_list_of, subtract
from simkit.seams import Entry, Reader, Review

_IGNORED: Final = frozenset({GroupResource("", "bindings"), GroupResource("", "events"), LOCAL_ACCESS_REVIEWS})
"""Resources that no quota counts: those that are not stored, and events."""
_UPDATES: Final = frozenset({SERVICES, CLAIMS})
"""The resources whose updates count; of others only the creation does."""
_TRIES: Final = 64

Charge = Callable[[Entry, Mapping[str, str]], bool]
"""A function that writes the usage into a quota's status; False if the quota has changed since it was read."""


@dataclass(frozen=True, slots=True)
class LimitedResource:
    """A resource that may only be used if a quota covers it."""

    resource: GroupResource
    match_contains: Sequence[str] = ()
    match_scopes: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class _Covering:
    """A quota that counts the object, and the usage that the object would add."""

    entry: Entry
    names: Sequence[str]
    added: ResourceList


class ResourceQuota(Handler, operations=WRITES):
    """The last validating plugin, so that nothing is charged for a request that another one refuses."""

    def __init__(self, store: Reader, clock: Clock, charge: Charge, limited: Sequence[LimitedResource] = ()) -> None:
        self._store, self._clock, self._charge, self._limited = store, clock, charge, limited

    def validate(self, review: Review) -> None:
        """Raises 403 for an object that exceeds a quota; else charges every quota that counts the object."""
        if review.subresource or not review.namespace or review.resource in _IGNORED:
            return
        if review.resource == NAMESPACES or (review.operation == "UPDATE" and review.resource not in _UPDATES):
            return
        if not self._limited and not self._store.count(QUOTAS):
            return
        if review.operation == "CREATE" and self._exists(review):
            return  # the write is about to fail, and must not cost anything
        self._evaluate(review)

    def _exists(self, review: Review) -> bool:
        return self._store.get(Key(review.resource, review.namespace, name_of(written(review)))) is not None

    def _evaluate(self, review: Review) -> None:
        done: set[str] = set()
        for _ in range(_TRIES):
            entries = self._store.scan(QUOTAS, review.namespace)
            covering = self._covering(review, entries)
            wanted = [(each.entry, self._fitting(review, each)) for each in covering if each.entry.key.name not in done]
            if review.dry_run:
                return
            charged = [entry.key.name for entry, used in checked(wanted) if self._charge(entry, quantity_texts(used))]
            done.update(charged)
            if len(charged) == len(wanted):
                return
        raise internal("resource quota evaluation timed out")

    def _covering(self, review: Review, entries: Sequence[Entry]) -> list[_Covering]:
        obj, resource = written(review), review.resource
        covering = [
            (each, self._names(review, each.object)) for each in checked(entries) if self._counted(review, each)
        ]
        total = usage(review.behaviour, resource, obj, self._clock.now(), self._backed(review))
        negative = sorted(name for name, amount in total.items() if amount.nano < 0)
        if negative:
            raise admission_forbidden(review, f"quota usage is negative for resource(s): {','.join(negative)}")
        found = [_Covering(entry, names, self._added(review, entry.object, total)) for entry, names in covering]
        found = [each for each in found if any(amount.nano for amount in each.added.values())]
        if covering and not found:
            return []
        self._check_limited(review, entries, covering, total)
        return found

    def _counted(self, review: Review, entry: Entry) -> bool:
        return counts(
            review.behaviour, entry.object, review.resource, written(review), _hard(entry.object), self._backed(review)
        )

    def _backed(self, review: Review) -> BackedResources:
        """The extended resources that devices back, which count for claims alone."""
        if review.resource != RESOURCE_CLAIMS:
            return NOTHING_BACKED
        namespace = review.namespace

        def pod_of(claim: Object) -> Object | None:
            owner = controlling_pod(claim)
            entry = self._store.get(Key(PODS, namespace, str(owner.get("name")))) if owner else None
            return entry.object if entry is not None and metadata(entry.object).get("uid") == owner.get("uid") else None

        def claims_of(pod: Object) -> list[Object]:
            found = [each.object for each in self._store.scan(RESOURCE_CLAIMS, namespace)]
            return [each for each in found if controlling_pod(each).get("uid") == metadata(pod).get("uid")]

        def classes() -> list[Object]:
            return [each.object for each in self._store.scan(DEVICE_CLASSES)]

        return backed_resources(review.behaviour, classes, pod_of, claims_of)

    def _names(self, review: Review, quota: Object) -> Sequence[str]:
        """The names of a quota that the object uses. Raises 403 if required fields are missing, or the usage is not
        computed yet."""
        names = matching(review.behaviour, review.resource, _hard(quota), self._backed(review))
        if review.resource == PODS:
            missing = missing_resources(review.behaviour, written(review), names)
            if missing:
                raise admission_forbidden(review, f"failed quota: {name_of(quota)}: must specify {missing}")
        if set(names) - set(at(quota, "status", "used") or ()):
            shown = ",".join(sorted(names))
            raise admission_forbidden(review, f"status unknown for quota: {name_of(quota)}, resources: {shown}")
        return names

    def _added(self, review: Review, quota: Object, total: ResourceList) -> ResourceList:
        old = review.old
        if old is None or not metadata(old).get("resourceVersion"):
            return total
        if not counts(review.behaviour, quota, review.resource, old, _hard(quota), self._backed(review)):
            return total
        left = subtract(total, usage(review.behaviour, review.resource, old, self._clock.now(), self._backed(review)))
        return {name: amount for name, amount in left.items() if name in total and amount.nano > 0}

    def _fitting(self, review: Review, covering: _Covering) -> ResourceList:
        """The usage with the object. Raises 403 if it exceeds the quota."""
        quota = covering.entry.object
        hard, used = resource_list_of(at(quota, "status", "hard")), resource_list_of(at(quota, "status", "used"))
        requested = {name: amount for name, amount in covering.added.items() if name in hard and amount.nano}
        wanted = add(used, requested)
        exceeded = sorted(name for name in requested if wanted[name].nano > hard[name].nano)
        if exceeded:
            shown = [
                ",".join(f"{name}={amounts[name]}" for name in exceeded if name in amounts)
                for amounts in (requested, used, hard)
            ]
            why = f"exceeded quota: {name_of(quota)}, requested: {shown[0]}, used: {shown[1]}, limited: {shown[2]}"
            raise admission_forbidden(review, why)
        return wanted

    def _check_limited(
        self,
        review: Review,
        entries: Sequence[Entry],
        covering: Sequence[tuple[Entry, Sequence[str]]],
        total: ResourceList,
    ) -> None:
        """Raise 403 if the server's settings require a quota that covers the object and there is none."""
        covered = {name for _, names in covering for name in names}
        parts = [part for each in self._limited if each.resource == review.resource for part in each.match_contains]
        missing = {
            name
            for name, amount in total.items()
            if amount.nano > 0 and name not in covered and any(part in name for part in parts)
        }
        if missing:
            raise admission_forbidden(review, f"insufficient quota to consume: {','.join(sorted(missing))}")
        obj = written(review)
        asked = [scope for each in self._limited for scope in each.match_scopes if fits(scope, review.resource, obj)]
        present = {
            scope.get("scopeName")
            for entry in entries
            for scope in scopes_of(entry.object)
            if fits(scope, review.resource, obj)
        }
        uncovered = [scope for scope in asked if scope.get("scopeName") not in present]
        if uncovered:
            raise unexplained(f"insufficient quota to match these scopes: [{' '.join(map(_shown, uncovered))}]")


def _hard(quota: Object) -> Sequence[str]:
    return list(at(quota, "status", "hard") or ())


def _shown(scope: Mapping[str, Any]) -> str:
    values = " ".join(scope.get("values") or ())
    return f"{{{scope.get('scopeName', '')} {scope.get('operator', '')} [{values}]}}"
