"""Creates and deletes the pods of a workload, and records Events about it.

Upstream: pkg/controller/controller_utils.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.controllers.client_requests import create, remove
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.event_recorder import EventRecorder
from simkit.engine.controllers.resources import PODS
from simkit.meta.objects import Object, name_of, namespace_of

MOST_AT_ONCE: Final = 500
"""The most pods that one sync of a workload creates or deletes: BurstReplicas, MaxPodCreateDeletePerSync."""


class PodControl:
    """The pods of one kind of workload."""

    def __init__(self, events: EventRecorder) -> None:
        self._events = events

    def create(self, client: Client, owner: Object, pod: Object) -> str:
        """Make a pod; gives back why it could not be made, nothing where it was."""
        response = create(client, PODS, namespace_of(owner), pod)
        if response.succeeded:
            self._events.event(client, owner, "SuccessfulCreate", f"Created pod: {name_of(response.shown)}")
            return ""
        message = str(response.object.get("message"))
        self._events.event(client, owner, "FailedCreate", f"Error creating: {message}", warning=True)
        return message

    def remove(self, client: Client, owner: Object, pod: Object) -> None:
        """Remove a pod; that it is gone already is no failure."""
        if remove(client, PODS, pod).succeeded:
            self._events.event(client, owner, "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
