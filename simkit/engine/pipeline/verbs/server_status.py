"""Writes of the server itself to the status of an object."""

from __future__ import annotations

from collections.abc import Callable

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.verbs.admission_binding import managed_fields_tracker
from simkit.engine.registry.write import Write
from simkit.meta.domain import API_SERVER
from simkit.meta.names import Key
from simkit.meta.objects import Draft, Object


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
