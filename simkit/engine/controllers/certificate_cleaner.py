"""Deletes certificate signing requests that are no longer needed.

Upstream: pkg/controller/certificates/cleaner, release 1.30.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

from simkit.engine.controllers.client_requests import keys_of, remove
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import SIGNING_REQUESTS
from simkit.engine.seams import Change
from simkit.logic.workloads.status_conditions import find
from simkit.meta.certificate_errors import unreadable
from simkit.meta.clock import Clock, moment
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, metadata

_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR


class CSRCleanerController(ResourceWatcher):
    """Deletes requests an hour after they were issued, denied or failed, and pending ones after a day."""

    name = "certificatesigningrequest-cleaner-controller"
    account = "certificate-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(SIGNING_REQUESTS)
        self._clock = clock

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return [change.entry.key]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(SIGNING_REQUESTS, lister.scan(SIGNING_REQUESTS))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        request = lister.get(key)
        end = _end(request) if request is not None else None
        if request is None or end is None:
            return None
        if end > self._clock.now():
            return end
        remove(client, SIGNING_REQUESTS, request)
        return None


def _end(request: Object) -> float | None:
    """The time at which a request is finished; None if it waits for its signer."""
    conditions = at(request, "status", "conditions") or ()
    ends: list[float] = []
    for kind in ("Denied", "Failed", "Approved"):
        found = find(conditions, kind)
        if found is not None and (kind != "Approved" or at(request, "status", "certificate")):
            ends.append(moment(found.get("lastUpdateTime") or metadata(request)["creationTimestamp"]) + _HOUR)
    if not conditions:
        ends.append(moment(metadata(request)["creationTimestamp"]) + _DAY)
    issued = at(request, "status", "certificate")
    if issued:
        ends += _not_after(issued)
    return min(ends, default=None)


def _not_after(certificate: str) -> list[float]:
    """The expiration times of an issued certificate."""
    from cryptography.x509 import load_pem_x509_certificate

    try:
        return [load_pem_x509_certificate(base64.b64decode(certificate)).not_valid_after_utc.timestamp()]
    except unreadable():
        return []
