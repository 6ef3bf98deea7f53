"""Protects ServiceCIDRs whose addresses are in use, and says which are ready.

Upstream: pkg/controller/servicecidrs/servicecidrs_controller.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_network
from typing import Final

from simkit.engine.controllers.client_requests import expect, keys_of, merge
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.pipeline.verbs.service_addresses import IP_ADDRESSES, is_allocated
from simkit.engine.seams import Change
from simkit.kinds.parts.validation.ip import Network, address, network
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.domain import api_group
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.schema.catalogue import Catalogue

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
