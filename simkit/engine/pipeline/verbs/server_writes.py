"""Writes of the server itself: of status, of the usage of quotas, and of the addresses of Services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.verbs.admission_binding import managed_fields_tracker
from simkit.engine.registry.write import Deletion, Write
from simkit.meta.domain import API_SERVER, api_group, label
from simkit.meta.errors import StatusError
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Draft, Object, labels_of, name_of, namespace_of
from simkit.schema.resources import Resource
from simkit.seams import Entry

# Writes of the server itself to the status of an object


def update_status_as_server(engine: Engine, key: Key, intent: Callable[[Object | None], Draft]) -> None:
    """Write a status with kube-apiserver as the field manager; admission is not called.

    Parameters
    ----------
    intent
        From the stored object to the wanted one.

    Raises
    ------
    StatusError
        404 and 409 where the object is gone, or has changed since the intent's object was read.
    """
    resource = engine.catalogue.preferred(key.resource)
    assert resource is not None, f"{key.resource} is not served"
    scope = engine.request_scope(resource)
    track = managed_fields_tracker(engine, scope, WriteOptions(API_SERVER), "status")
    engine.registry.update(Write(scope.registry_scope, key, intent, "status", track=track))


# Writes of a resource quota's status by the server itself when admission charges it.
# Upstream: k8s.io/apiserver/pkg/admission/plugin/resourcequota/resource_access.go, release 1.30.


def charge_quota(engine: Engine, quota: Entry, used: Mapping[str, str]) -> bool:
    """True if the quota could be charged: False when somebody has changed it since it was read, or it is gone."""

    def intent(live: Object | None) -> Draft:
        obj = quota.object
        return {**obj, "metadata": dict(obj["metadata"]), "status": {**(obj.get("status") or {}), "used": dict(used)}}

    try:
        update_status_as_server(engine, quota.key, intent)
    except StatusError as error:
        if error.code in (404, 409):
            return False
        raise
    return True


# The IPAddress objects of the addresses that Services have.
# Upstream: pkg/registry/core/service/ipallocator/ipallocator.go, release 1.36.

IP_ADDRESSES: Final = GroupResource(api_group("networking"), "ipaddresses")
_MANAGED_BY, _FAMILY = label("managed-by", "ipaddress"), label("ip-family", "ipaddress")
_ALLOCATOR: Final = api_group("ipallocator")
"""The manager of these objects in their label."""
_NOT_FOUND, _CONFLICT = 404, 409


class IPAddressRecords:
    """Writes the objects as the server itself; admission is not called."""

    def __init__(self, engine: Engine, resource: Resource) -> None:
        self._engine, self._resource = engine, resource

    def create(self, text: str, family: str, service: Object) -> bool:
        """Make the object of an address for a Service; False if there is one of this name."""
        scope = self._engine.request_scope(self._resource)
        made = address_record(self._resource, text, family, service)
        track = managed_fields_tracker(self._engine, scope, WriteOptions(API_SERVER), "")
        key = scope.registry_scope.key("", text)
        try:
            self._engine.registry.create(Write(scope.registry_scope, key, lambda _: made, track=track))
        except StatusError as error:
            if error.code != _CONFLICT:
                raise
            return False
        return True

    def delete(self, text: str) -> None:
        """Remove the object of an address, if there is one."""
        scope = self._engine.request_scope(self._resource).registry_scope
        try:
            self._engine.registry.delete(Deletion(scope, scope.key("", text), lambda _: None))
        except StatusError as error:
            if error.code not in (_NOT_FOUND, _CONFLICT):
                raise


def address_record(resource: Resource, text: str, family: str, service: Object) -> Draft:
    """The IPAddress object of an address of a family, such as ``IPv4``, that a Service has."""
    labels = {_FAMILY: family, _MANAGED_BY: _ALLOCATOR}
    parent = {"resource": "services", "namespace": namespace_of(service), "name": name_of(service)}
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**head, "metadata": {"name": text, "labels": labels}, "spec": {"parentRef": parent}}


def is_allocated(record: Object, family: str = "") -> bool:
    """True if an IPAddress object is one that the server keeps, and of a family where one is given."""
    labels = labels_of(record)
    return labels.get(_MANAGED_BY) == _ALLOCATOR and (not family or labels.get(_FAMILY) == family)


def record_addresses(engine: Engine) -> None:
    """Let the allocation of an engine keep IPAddress objects, if the server has them."""
    resource = engine.catalogue.preferred(IP_ADDRESSES)
    if resource is not None and "addresses-of-service-ranges" in engine.behaviour.ids:
        engine.registry.allocation.record_in(IPAddressRecords(engine, resource))
