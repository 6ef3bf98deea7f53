"""Writes of a resource quota's status by the server itself when admission charges it.

Upstream: k8s.io/apiserver/pkg/admission/plugin/resourcequota/resource_access.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.verbs.server_status import update_status_as_server
from simkit.engine.seams import Entry
from simkit.meta.errors import StatusError
from simkit.meta.objects import Draft, Object


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
