"""What servers record of themselves: their APIServices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from simkit.client.controller import Client
from simkit.client.resources import ENDPOINTS, SLICES
from simkit.client.work_queue import WorkQueue
from simkit.engine.pipeline.api_services import SERVICES, APIService, api_service
from simkit.kinds.apiregistration import AUTOMANAGED
from simkit.logic.workloads.status_conditions import with_condition
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import (
    EXTENSIONS_GROUP,
    REGISTRATION_GROUP,
    label,
)
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, GroupVersion
from simkit.meta.objects import Object, at, labels_of, name_of
from simkit.schema.catalogue import Catalogue
from simkit.schema.versions import CUSTOM
from simkit.seams import Change
from simkit.seams.snapshot import Snapshot

# Keeps the APIService objects: their condition Available, and those of custom resources.
# Upstream: k8s.io/kube-aggregator/pkg/controllers/status, pkg/controlplane/controller/crdregistration and
# k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper/helpers.go, release 1.30.

SERVER: Final = "system:apiserver"
"""The user as whom a server keeps its own objects in order."""
_API_SERVICES: Final = f"/apis/{REGISTRATION_GROUP}/v1/apiservices"
_DEFINITIONS: Final = GroupResource(EXTENSIONS_GROUP, "customresourcedefinitions")
_CLUSTER_SERVICES: Final = GroupResource("", "services")
_SERVICE_NAME: Final = label("service-name")
_AGAIN: Final = 30.0
"""Seconds between two looks at a backing server."""

Probe = Callable[[APIService], str]
"""Asks a backing server; gives why it cannot be used, or the empty string."""
Finding = tuple[str, str, str]
"""Status, reason and message of a condition."""


class AvailableConditionController:
    """Writes the condition Available of every APIService.

    Parameters
    ----------
    probe
        Asks the server behind a registration.
    located
        Whether somebody said where the service of a registration is; its objects are not looked at then.
    allowed
        Whether backing servers may be asked at all. Where they may not, remote registrations stay as they are.
    """

    name = "apiservice-status-available-controller"
    account = SERVER

    def __init__(
        self, probe: Probe, located: Callable[[APIService], bool], allowed: Callable[[], bool], clock: Clock
    ) -> None:
        self._probe, self._located, self._allowed, self._clock = probe, located, allowed, clock
        self.queue = WorkQueue[str](self.name, clock)

    @property
    def next_time(self) -> float | None:
        return self.queue.next_time

    def concerns(self, change: Change) -> bool:
        """True for APIServices, and for services and endpoints, which they may name."""
        return change.entry.key.resource in (SERVICES, _CLUSTER_SERVICES, ENDPOINTS, SLICES)

    def reset_backoff(self) -> None:
        """Probe all backing servers again."""
        self.queue.all_now()

    def resume_from(self, other: Any) -> None:
        """Probe the backing servers when the other one would."""
        self.queue.copy_from(other.queue)

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        """Write the conditions that are not as they should be."""
        found = {name_of(obj): obj for obj in snapshot.scan(SERVICES)}
        for name in self.queue.due() - found.keys():
            self.queue.forget(name)
        self.queue.process(found, lambda name: self._write(client, snapshot, found[name]))

    def _write(self, client: Client, snapshot: Snapshot, obj: Object) -> float | None:
        """Write the condition of one APIService; returns the time of the next probe of its server."""
        found = api_service(obj)
        if found.service is not None and not self._allowed():
            return None
        wanted = self._status(obj, self._condition(found, snapshot))
        if wanted != (obj.get("status") or {}):
            path = f"{_API_SERVICES}/{quote(name_of(obj))}/status"
            client.perform(Request.of("PUT", path, {**obj, "status": wanted}, headers=_AGENT))
        return None if found.service is None else self._clock.now() + _AGAIN

    def _status(self, obj: Object, finding: Finding) -> dict[str, Any]:
        made = {"type": "Available", **dict(zip(("status", "reason", "message"), finding, strict=True))}
        return {"conditions": with_condition(at(obj, "status", "conditions"), made, timestamp(self._clock.now()))}

    def _condition(self, found: APIService, snapshot: Snapshot) -> Finding:
        if found.service is None:
            return "True", "Local", "Local APIServices are always available"
        if not self._located(found):
            missing = _service_error(found.service, snapshot)
            if missing is not None:
                return missing
        why = self._probe(found)
        return ("False", "FailedDiscoveryCheck", why) if why else ("True", "Passed", "all checks passed")


def _service_error(service: tuple[str, str, int], snapshot: Snapshot) -> Finding | None:
    """The obstacle between requests and a service, as far as its objects tell."""
    namespace, name, port = service
    shown = f'service/{name} in "{namespace}"'
    listening = snapshot.get(_CLUSTER_SERVICES, name, namespace)
    if listening is None:
        return "False", "ServiceNotFound", f"{shown} is not present"
    if (at(listening, "spec", "type") or "ClusterIP") != "ClusterIP":
        return None
    ports = [each for each in at(listening, "spec", "ports") or () if each.get("port") == port]
    if not ports:
        return "False", "ServicePortError", f"{shown} is not listening on port {port}"
    if snapshot.behaviour.applies("api-services-by-endpoint-slices"):
        listed = snapshot.scan(SLICES, namespace)
        what, found = "endpointslices", [each for each in listed if labels_of(each).get(_SERVICE_NAME) == name]
        active = {port.get("name") or "" for each in found if _is_ready(each) for port in each.get("ports") or ()}
    else:
        one = snapshot.get(ENDPOINTS, name, namespace)
        what, found = "endpoints", [] if one is None else [one]
        subsets = [each for one in found for each in one.get("subsets") or () if each.get("addresses")]
        active = {port.get("name") or "" for each in subsets for port in each.get("ports") or ()}
    if not found:
        return "False", "EndpointsNotFound", f"cannot find {what} for {shown}"
    port_name = ports[0].get("name") or ""
    if port_name not in active:
        return "False", "MissingEndpoints", f'{what} for {shown} have no addresses with port name "{port_name}"'
    return None


def _is_ready(endpoint_slice: Object) -> bool:
    """True if an endpoint of a slice is ready, or does not say."""
    return any(at(each, "conditions", "ready") is not False for each in endpoint_slice.get("endpoints") or ())


class CRDRegistrationController:
    """Creates an APIService for each group version of custom resources and deletes it with the last of them."""

    name = "crd-autoregistration"
    account = SERVER
    next_time: float | None = None

    def __init__(self, catalogue: Callable[[], Catalogue]) -> None:
        self._catalogue = catalogue

    def concerns(self, change: Change) -> bool:
        """Definitions, and registrations that somebody may have touched."""
        return change.entry.key.resource in (_DEFINITIONS, SERVICES)

    def reset_backoff(self) -> None:
        """Do nothing: the controller has no back-off."""

    def resume_from(self, other: Any) -> None:
        """Do nothing: the controller keeps no state that a fork needs."""

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        """Create what is missing, remove what is left over; what others registered stays theirs."""
        present = {name_of(obj): obj for obj in snapshot.scan(SERVICES)}
        wanted = {f"{each.version}.{each.group}": each for each in self._versions()}
        for name, version in wanted.items():
            if name not in present:
                client.perform(Request.of("POST", _API_SERVICES, registered(version, CUSTOM, "true"), headers=_AGENT))
        for name, obj in present.items():
            if name not in wanted and labels_of(obj).get(AUTOMANAGED) == "true":
                client.perform(Request.of("DELETE", f"{_API_SERVICES}/{quote(name)}", headers=_AGENT))

    def _versions(self) -> set[GroupVersion]:
        return {each.group_version for each in self._catalogue().resources() if each.custom}


_AGENT: Final[Mapping[str, str]] = {"user-agent": "kube-apiserver"}


def registered(version: GroupVersion, priority: tuple[int, int], managed: str) -> dict[str, Any]:
    """The APIService by which a server registers a group version that it answers itself."""
    group_priority, version_priority = priority
    spec: dict[str, Any] = {"group": version.group} if version.group else {}
    spec |= {"version": version.version, "groupPriorityMinimum": group_priority, "versionPriority": version_priority}
    name = f"{version.version}.{version.group}"
    return {"metadata": {"name": name, "labels": {AUTOMANAGED: managed}}, "spec": spec}
