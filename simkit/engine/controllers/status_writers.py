"""Controllers that write the status of ResourceQuotas, FlowSchemas and ValidatingAdmissionPolicies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import orjson

from simkit.client.controller import Client
from simkit.client.lister import Lister, uid_of
from simkit.client.requests import key_of, keys_of, replace_status
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import DEVICE_CLASSES, PODS, QUOTAS
from simkit.logic.quota.calculate import Scope, counted, total_usage, used
from simkit.logic.quota.device_claims import RESOURCE_CLAIMS, BackedResources, backed_resources, controlling_pod
from simkit.logic.workloads.status_conditions import find, with_condition
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import ADMISSION_GROUP, api_group
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, GroupVersion, Key
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.meta.resource_list import ResourceList, quantity_texts, resource_list_of
from simkit.schema.catalogue import Catalogue
from simkit.seams import Change
from simkit.seams.snapshot import Snapshot

# Counts the usage of ResourceQuotas.
# Upstream: pkg/controller/resourcequota, release 1.30.


def _by_resource(
    behaviour: ServedBehaviour, quotas: Iterable[Object], backed: BackedResources
) -> Mapping[GroupResource, Sequence[Key]]:
    """The keys of quotas by the resources that they count."""
    found: dict[GroupResource, list[Key]] = {}
    for quota in quotas:
        for resource in counted(behaviour, at(quota, "spec", "hard") or (), backed):
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

    return lister.once(
        backed_resources, lambda: backed_resources(lister.snapshot.behaviour, classes, pod_of, claims_of)
    )


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
        counting = lister.once(
            (counted, key.namespace), lambda: _by_resource(lister.snapshot.behaviour, quotas, _backed(lister))
        ).get(key.resource, [])
        return [*counting, *own]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        found = lister.scan(QUOTAS)
        self._limited = set(map(namespace_of, found))
        return keys_of(QUOTAS, found)

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
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
            return lister.once(
                kept, lambda: total_usage(lister.snapshot.behaviour, resource, scopes, objects(), now, backed)
            )

        counts = used(lister.snapshot.behaviour, quota, list(hard), totals, backed)
        before = resource_list_of(at(quota, "status", "used"))
        wanted = {name: amount for name, amount in {**before, **counts}.items() if name in hard}
        if wanted == before and resource_list_of(at(quota, "status", "hard")) == hard and at(quota, "status", "hard"):
            return
        replace_status(client, QUOTAS, quota, {"hard": quantity_texts(hard), "used": quantity_texts(wanted)})


# Writes the condition Dangling into the status of FlowSchemas.
# Upstream: k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go, release 1.30.

_GROUP: Final = api_group("flowcontrol.apiserver")
_SCHEMAS: Final = GroupResource(_GROUP, "flowschemas")
_LEVELS: Final = GroupResource(_GROUP, "prioritylevelconfigurations")
FOLLOWED: Final = (_SCHEMAS, _LEVELS)
"""The resources on whose objects the statuses rest."""
_FLOW_SCHEMA_MANAGER: Final = "api-priority-and-fairness-config-consumer-v1"


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
            conditions = self._conditions(schema, snapshot)
            if conditions is not None:
                status = {"conditions": conditions}
                version = GroupVersion(_GROUP, served.version)
                self._perform(_applied_status(version, _SCHEMAS, "FlowSchema", schema, status, _FLOW_SCHEMA_MANAGER))

    def _conditions(self, schema: Object, snapshot: Snapshot) -> Sequence[Object] | None:
        """The one condition that a schema should have, None where it has it."""
        status, reason, message = self._found(schema, snapshot)
        now = find(at(schema, "status", "conditions"), "Dangling") or {}
        wanted = {"type": "Dangling", "status": status, "reason": reason, "message": message}
        if wanted.items() <= now.items():
            return None
        return with_condition([now] if now else [], wanted, timestamp(self._clock.now()))

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


# Type-checks the expressions of ValidatingAdmissionPolicies and writes warnings into their status.
# Upstream: pkg/controller/validatingadmissionpolicystatus, release 1.30.

_POLICIES: Final = GroupResource(ADMISSION_GROUP, "validatingadmissionpolicies")
_POLICY_MANAGER: Final = "validatingadmissionpolicy-status"


class PolicyStatusController(ResourceWatcher):
    """Checks each generation of a policy once, against the kinds that its rules name."""

    name = account = "validatingadmissionpolicy-status-controller"

    def __init__(self, catalogue: Callable[[], Catalogue]) -> None:
        super().__init__(_POLICIES)
        self._catalogue = catalogue

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        """Check a policy whose present generation was not checked yet."""
        policy = lister.get(key)
        generation = metadata(policy).get("generation") or 0 if policy is not None else 0
        if policy is not None and generation > (at(policy, "status", "observedGeneration") or 0):
            client.perform(self._report(policy, generation))
        return None

    def _report(self, policy: Object, generation: int) -> Request:
        from simkit.logic.policy.typecheck import expression_warnings

        warnings = expression_warnings(policy, self._catalogue())
        checking = {"expressionWarnings": warnings} if warnings else {}
        status = {"observedGeneration": generation, "typeChecking": checking}
        group_version = GroupVersion(ADMISSION_GROUP, "v1")
        return _applied_status(group_version, _POLICIES, "ValidatingAdmissionPolicy", policy, status, _POLICY_MANAGER)


def _applied_status(
    served: GroupVersion, resource: GroupResource, kind: str, obj: Object, status: Object, manager: str
) -> Request:
    """The apply of a status by a manager, in a version of its kind that is served."""
    name = name_of(obj)
    body = {"apiVersion": str(served), "kind": kind, "metadata": {"name": name}, "status": status}
    path = f"/apis/{served}/{resource.resource}/{quote(name)}/status?fieldManager={manager}&force=true"
    return Request.of("PATCH", path, body, content_type="application/apply-patch+yaml")
