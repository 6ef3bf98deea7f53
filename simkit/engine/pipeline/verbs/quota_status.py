"""The status of a resource quota, written as the server itself when admission charges it."""

from __future__ import annotations

from collections.abc import Mapping

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.verbs.admission_binding import managed_fields_tracker
from simkit.engine.registry.write import Write
from simkit.engine.seams import Entry
from simkit.meta.domain import API_SERVER
from simkit.meta.errors import StatusError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Draft, Object


def charge_quota(engine: Engine, quota: Entry, used: Mapping[str, str]) -> bool:
    """Whether the quota could be charged: False when somebody has changed it since it was read, or it is gone."""
    resource = engine.catalogue.preferred(GroupResource("", "resourcequotas"))
    assert resource is not None
    scope = engine.request_scope(resource)

    def intent(live: Object | None) -> Draft:
        obj = quota.object
        return {**obj, "metadata": dict(obj["metadata"]), "status": {**(obj.get("status") or {}), "used": dict(used)}}

    write = Write(
        scope.registry_scope,
        quota.key,
        intent,
        "status",
        track=managed_fields_tracker(engine, scope, WriteOptions(API_SERVER), "status"),
    )
    try:
        engine.registry.update(write)
    except StatusError as error:
        if error.code in (404, 409):
            return False
        raise
    return True
