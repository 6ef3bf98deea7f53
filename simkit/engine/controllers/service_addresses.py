"""Controllers of ServiceCIDRs and of the IPAddress objects of Services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_network
from typing import Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import create, expect, key_of, keys_of, merge, remove
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import SERVICES
from simkit.engine.pipeline.verbs.server_writes import IP_ADDRESSES, address_record, is_allocated
from simkit.kinds.parts.validation.ip import Network, address, network
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.domain import api_group
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Draft, Object, at, metadata, name_of, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource
from simkit.seams import Change

# Protects ServiceCIDRs whose addresses are in use, and says which are ready.
# Upstream: pkg/controller/servicecidrs/servicecidrs_controller.go, release 1.36.

SERVICE_CIDRS: Final = GroupResource(api_group("networking"), "servicecidrs")
_FINALIZER: Final = f"{SERVICE_CIDRS.group}/service-cidr-finalizer"
_GRACE: Final = 10.0
"""Seconds after the deletion in which servers may still give out addresses of a range."""
_BLOCKED: Final = (
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
)


class ServiceCIDRsController(ResourceWatcher):
    """Keeps a range until nothing has an address that is in no other range."""

    name = "service-cidr-controller"
    account = "service-cidrs-controller"

    def __init__(self, catalogue: Callable[[], Catalogue], clock: Clock) -> None:
        super().__init__(SERVICE_CIDRS, IP_ADDRESSES)
        self._catalogue, self._clock = catalogue, clock

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource == SERVICE_CIDRS:
            return {key, *self.all_keys(lister)}
        if change.type != "DELETED":
            return ()
        return keys_of(SERVICE_CIDRS, [each for each in self._all(lister) if is_terminating(each)])

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(SERVICE_CIDRS, self._all(lister))

    def _all(self, lister: Lister) -> Sequence[Object]:
        return lister.scan(SERVICE_CIDRS) if self._catalogue().preferred(SERVICE_CIDRS) is not None else ()

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        found = lister.get(key) if self._catalogue().preferred(SERVICE_CIDRS) is not None else None
        if found is None:
            return None
        if not is_terminating(found):
            _keep(client, found, held=True)
            self._told(client, found, "True", "", "Kubernetes Service CIDR is ready")
            return None
        if self._blocked(lister, found):
            self._told(client, found, "False", "Terminating", _BLOCKED)
            return None
        due: float = moment(metadata(found)["deletionTimestamp"]) + _GRACE
        if self._clock.now() < due:
            return due
        _keep(client, found, held=False)
        return None

    def _blocked(self, lister: Lister, going: Object) -> bool:
        """True if an address would be left without a range."""
        others = [each for other in self._all(lister) if name_of(other) != name_of(going) for each in ranges_of(other)]
        wide = [each for each in ranges_of(going) if not any(contains(other, each) for other in others)]
        if not wide:
            return False
        return any(
            is_allocated(each) and _is_in(each, wide) and not _is_in(each, others) for each in lister.scan(IP_ADDRESSES)
        )

    def _told(self, client: Client, obj: Object, status: str, reason: str, message: str) -> None:
        """Apply the condition Ready, if the object does not say so already."""
        conditions = at(obj, "status", "conditions") or ()
        known: Object = next((each for each in conditions if each.get("type") == "Ready"), {})
        if (known.get("status"), known.get("reason") or "", known.get("message")) == (status, reason, message):
            return
        now = timestamp(self._clock.now())
        said = {"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": now}
        wanted = {"apiVersion": f"{SERVICE_CIDRS.group}/v1", "kind": "ServiceCIDR", "metadata": {"name": name_of(obj)}}
        path = f"/apis/{SERVICE_CIDRS.group}/v1/servicecidrs/{name_of(obj)}/status?fieldManager={self.name}&force=true"
        body = {**wanted, "status": {"conditions": [said]}}
        expect(client.perform(Request.of("PATCH", path, body, content_type="application/apply-patch+yaml")), 404, 409)


def ranges_of(obj: Object) -> list[Network]:
    """The ranges of a ServiceCIDR that can be read."""
    return [found for text in at(obj, "spec", "cidrs") or () if (found := network(text)) is not None]


def contains(wide: Network, narrow: Network) -> bool:
    """True if a range holds all of another one."""
    return wide.version == narrow.version and narrow.network_address in wide and narrow.broadcast_address in wide


def _is_in(obj: Object, ranges: Sequence[Network]) -> bool:
    found = address(name_of(obj))
    return found is not None and any(contains(each, ip_network(found)) for each in ranges)


def _keep(client: Client, obj: Object, *, held: bool) -> None:
    """Set the finalizer, or take it away."""
    present = list(metadata(obj).get("finalizers") or ())
    if held == (_FINALIZER in present):
        return
    wanted = [*present, _FINALIZER] if held else [name for name in present if name != _FINALIZER]
    change = {"metadata": {"finalizers": wanted, "resourceVersion": metadata(obj).get("resourceVersion", "")}}
    expect(merge(client, SERVICE_CIDRS, obj, change), 404, 409)


# Keeps IPAddress objects and the addresses of Services in agreement.
# Upstream: pkg/registry/core/service/ipallocator/controller/repairip.go, release 1.36. There, servers look at
# everything once a minute besides; here, changes and the times at which a grace period ends suffice.

_SERVER: Final = "system:apiserver"
_LEAK: Final = 60.0
"""Seconds that the address of a Service which is not there may have, and that of an ExternalName."""
_NEW: Final = 5.0
"""Seconds in which the address of a Service may be ahead of it."""


class RepairIPAddress(ResourceWatcher):
    """Makes the objects that addresses of Services lack, and removes those of no Service."""

    name = "ipallocator-repair-controller"
    account = _SERVER

    def __init__(self, catalogue: Callable[[], Catalogue], clock: Clock) -> None:
        super().__init__(SERVICES, IP_ADDRESSES, SERVICE_CIDRS)
        self._catalogue, self._clock = catalogue, clock
        self._recorder = EventRecorder(clock, self.name)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        if key.resource == SERVICE_CIDRS:
            return self.all_keys(lister)
        if key.resource == SERVICES:
            return [key, *(Key(IP_ADDRESSES, "", text) for text in _addresses(obj))]
        parent = at(obj, "spec", "parentRef") or {}
        return [key, Key(SERVICES, parent.get("namespace") or "", parent.get("name") or "")]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        if self._catalogue().preferred(IP_ADDRESSES) is None:
            return ()
        return [key_of(resource, each) for resource in (SERVICES, IP_ADDRESSES) for each in lister.scan(resource)]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        resource = self._catalogue().preferred(IP_ADDRESSES)
        found = lister.get(key) if resource is not None else None
        if resource is None or found is None:
            return None
        if key.resource == IP_ADDRESSES:
            return self._sync_address(client, lister, found)
        for text in _addresses(found):
            self._sync_service(client, lister, found, text, resource)
        return None

    # Addresses of Services

    def _sync_service(self, client: Client, lister: Lister, service: Object, text: str, resource: Resource) -> None:
        ip, ranges = address(text), lister.once(RepairIPAddress, lambda: _all_ranges(lister))
        if ip is None or not ranges:  # a dump may hold no ranges
            return
        family = f"IPv{ip.version}"
        told, wanted = f"Cluster IP [{family}]", address_record(resource, str(ip), family, service)
        if not any(contains(each, ip_network(ip)) for each in ranges):
            text = f"{told}: {ip} is not within any configured Service CIDR; please recreate service"
            self._warn(client, service, "ClusterIPOutOfRange", text)
            return
        record = lister.get(Key(IP_ADDRESSES, "", str(ip)))
        if record is None:
            self._warn(client, service, "ClusterIPNotAllocated", f"{told}: {ip} is not allocated; repairing")
            expect(create(client, IP_ADDRESSES, "", wanted), 409)
        elif self._is_foreign(lister, record, service):
            where = f"{namespace_of(service)}/{name_of(service)}"
            text = f"the ClusterIP [{family}]: {ip} for Service {where} has a wrong reference; repairing"
            self._warn(client, service, "ClusterIPNotAllocated", text)
            self._recreate(client, record, wanted)
        elif _belongs_to_another(record, service):
            text = f"{told}:{ip} was assigned to multiple services; please recreate service"
            self._warn(client, service, "ClusterIPAlreadyAllocated", text)
        elif not is_allocated(record, family):
            self._recreate(client, record, wanted)

    @staticmethod
    def _is_foreign(lister: Lister, record: Object, service: Object) -> bool:
        """True if a record names no Service, or another one that is not there."""
        parent = at(record, "spec", "parentRef") or {}
        if parent.get("group") or parent.get("resource") != "services":
            return True
        return _belongs_to_another(record, service) and _parent(lister, record) is None

    @staticmethod
    def _recreate(client: Client, record: Object, wanted: Draft) -> None:
        remove(client, IP_ADDRESSES, record)
        expect(create(client, IP_ADDRESSES, "", wanted), 409)

    # IPAddress objects

    def _sync_address(self, client: Client, lister: Lister, record: Object) -> float | None:
        """Remove the record of an address that no Service has; gives when it may go, if that is later."""
        if not is_allocated(record):
            return None
        parent, name = at(record, "spec", "parentRef") or {}, name_of(record)
        born, now = moment(metadata(record)["creationTimestamp"]), self._clock.now()
        if parent.get("group") or parent.get("resource") != "services":
            text = f"IPAddress {name} appears to have been modified, not referencing a Service: cleaning up"
            self._clean(client, record, "IPAddressNotAllocated", text)
            return None
        service = _parent(lister, record)
        where = f"{parent.get('namespace') or ''}/{parent.get('name') or ''}"
        if service is None:
            if now - born <= _LEAK:
                return float(born + _LEAK + 1)
            text = f"IPAddress: {name} for Service {where} appears to have leaked: cleaning up"
            self._clean(client, record, "IPAddressNotAllocated", text)
            return None
        if name in (at(service, "spec", "clusterIPs") or ()):
            return None
        if at(service, "spec", "type") == "ExternalName" and now - born < _LEAK:
            return float(born + _LEAK)
        if born > moment(metadata(service)["creationTimestamp"]) and now - born < _NEW:
            return float(born + _NEW)
        text = f"IPAddress: {name} for Service {where} has a wrong reference; cleaning up"
        self._clean(client, record, "IPAddressWrongReference", text)
        return None

    def _clean(self, client: Client, record: Object, reason: str, text: str) -> None:
        self._warn(client, record, reason, text)
        remove(client, IP_ADDRESSES, record)

    def _warn(self, client: Client, about: Object, reason: str, text: str) -> None:
        self._recorder.event(client, about, reason, text, warning=True)


def _addresses(service: Object) -> Sequence[str]:
    given: Sequence[str] = at(service, "spec", "clusterIPs") or ()
    return [text for text in given if text and text != "None"]


def _belongs_to_another(record: Object, service: Object) -> bool:
    parent = at(record, "spec", "parentRef") or {}
    return (parent.get("namespace"), parent.get("name")) != (namespace_of(service), name_of(service))


def _parent(lister: Lister, record: Object) -> Object | None:
    parent = at(record, "spec", "parentRef") or {}
    return lister.get(Key(SERVICES, parent.get("namespace") or "", parent.get("name") or ""))


def _all_ranges(lister: Lister) -> Sequence[Network]:
    return [each for cidr in lister.scan(SERVICE_CIDRS) for each in ranges_of(cidr)]
