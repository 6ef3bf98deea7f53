"""Deletes pods of which a controller first says that they are disrupted."""

from __future__ import annotations

from simkit.engine.controllers.client_requests import expect, merge, remove
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.resources import PODS
from simkit.logic.workloads.status_conditions import with_condition
from simkit.meta.clock import timestamp
from simkit.meta.objects import Object, at


def delete_disrupted(client: Client, pod: Object, reason: str, message: str, now: float) -> None:
    """Set the condition ``DisruptionTarget`` of a pod, then delete it. Raises RequeueError."""
    wanted = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
    conditions = with_condition(at(pod, "status", "conditions"), wanted, timestamp(now))
    expect(merge(client, PODS, pod, {"status": {"conditions": conditions}}, "status"), 404, 409)
    remove(client, PODS, pod)
