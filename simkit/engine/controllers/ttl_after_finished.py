"""Deletes finished Jobs when their ttlSecondsAfterFinished are over.

Upstream: pkg/controller/ttlafterfinished, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable

from simkit.engine.controllers.client_requests import keys_of, remove
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import JOBS
from simkit.engine.seams import Change
from simkit.logic.workloads.jobs import finished_at
from simkit.meta.clock import Clock
from simkit.meta.names import Key
from simkit.meta.objects import at


class TTLAfterFinishedController(ResourceWatcher):
    """Deletes each finished Job that has a TTL, and its pods with it."""

    name = account = "ttl-after-finished-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(JOBS)
        self._clock = clock

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return [change.entry.key]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(JOBS, lister.scan(JOBS))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        job = lister.get(key)
        seconds = at(job, "spec", "ttlSecondsAfterFinished")
        if job is None or seconds is None or is_terminating(job):
            return None
        finished = finished_at(job)
        if finished is None:
            return None
        if finished + seconds > self._clock.now():
            return finished + float(seconds)
        remove(client, JOBS, job, "Foreground")
        return None
