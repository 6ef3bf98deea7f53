"""The lease by which a server is known among those of a cluster, and the end of those of servers that are gone.

Upstream: pkg/controlplane/apiserver/server.go, pkg/controlplane/controller/apiserverleasegc/gc_controller.go and
k8s.io/component-helpers/apimachinery/lease/controller.go, release 1.36.
"""

from __future__ import annotations

import base64
import hashlib
import socket
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from simkit.engine.controllers.leader_election import Runner
from simkit.meta.clock import Clock, micro_time
from simkit.meta.domain import API_SERVER, LABEL_DOMAIN, SYSTEM_NAMESPACE, api_group, label
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object, at, name_of
from simkit.meta.periodic import Periodic

RENEWAL_SECONDS: Final = 10.0
LEASE_SECONDS: Final = 3600
COLLECTION_SECONDS: Final = 3600.0
"""Seconds between two looks for leases of servers that are gone."""
IDENTITY: Final = label("identity", "apiserver")
HOST: Final = f"{LABEL_DOMAIN}/hostname"
_PATH: Final = f"/apis/{api_group('coordination')}/v1/namespaces/{SYSTEM_NAMESPACE}/leases"


def lease_name(host: str) -> str:
    """The name of the lease of a server on a host.

    Examples
    --------
    >>> lease_name("vm")
    'apiserver-wlv32tlttr4jl3gtroqexyxapa'
    """
    parts = (text.encode() for text in (host, API_SERVER))
    digest = hashlib.sha256(b"".join(len(part).to_bytes(2, "big") + part for part in parts)).digest()
    return f"apiserver-{base64.b32encode(digest[:16]).decode().lower().rstrip('=')}"


class IdentityLease:
    """Keeps the lease of a server as long as this runs, beside another runner.

    Parameters
    ----------
    runner
        Starts and stops with it.
    perform
        Sends a request as the server itself.
    host
        The name of the machine; empty: as the system says.
    """

    def __init__(self, runner: Runner, perform: Callable[[Request], Response], clock: Clock, host: str = "") -> None:
        self._runner, self._perform, self._clock = runner, perform, clock
        self._host = host or socket.gethostname()
        self.name = lease_name(self._host)
        self._holder = f"{self.name}_{uuid.uuid4()}"
        self._next_collection = 0.0
        self._renewals = Periodic(
            "simkit-identity-lease", self.step, RENEWAL_SECONDS, at_once=True, patience=RENEWAL_SECONDS
        )

    def start(self) -> None:
        """Start the other runner, and renew the lease in the background until ``stop``."""
        self._runner.start()
        self._renewals.start()

    def stop(self) -> None:
        """Stop both, and delete the lease."""
        if self._renewals.is_started:
            self._renewals.stop()
            self._send("DELETE", f"{_PATH}/{self.name}")
        self._runner.stop()

    def step(self) -> None:
        """Renew the lease, or make it, and let go of others when it is time."""
        self._renew()
        now = self._clock.now()
        if now >= self._next_collection:
            self._next_collection = now + COLLECTION_SECONDS
            self._collect(now)

    def _renew(self) -> None:
        found = self._send("GET", f"{_PATH}/{self.name}")
        if found.status == 404:
            self._send("POST", _PATH, self._renewed({"metadata": {"name": self.name, "namespace": SYSTEM_NAMESPACE}}))
        elif found.status == 200:
            self._send("PUT", f"{_PATH}/{self.name}", self._renewed(found.object))

    def _renewed(self, lease: Object) -> dict[str, Any]:
        """The lease with the present time. One that another process held is taken over."""
        metadata = lease["metadata"]
        labels = {**(metadata.get("labels") or {}), IDENTITY: API_SERVER, HOST: self._host}
        spec = {
            **(lease.get("spec") or {}),
            "holderIdentity": self._holder,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micro_time(self._clock.now()),
        }
        return {**lease, "metadata": {**metadata, "labels": labels}, "spec": spec}

    def _collect(self, now: float) -> None:
        """Delete the leases of servers that have not renewed them in time."""
        found = self._send("GET", f"{_PATH}?labelSelector={IDENTITY}%3D{API_SERVER}")
        for lease in found.object.get("items") or () if found.status == 200 else ():
            if _ended(lease, now):
                self._send("DELETE", f"{_PATH}/{name_of(lease)}")

    def _send(self, method: str, path: str, body: Object | None = None) -> Response:
        return self._perform(Request.of(method, path, body, headers={"user-agent": API_SERVER}))


def _ended(lease: Object, now: float) -> bool:
    """True if a lease is over, or says not when it is."""
    renewed, seconds = at(lease, "spec", "renewTime"), at(lease, "spec", "leaseDurationSeconds")
    return not renewed or seconds is None or datetime.fromisoformat(renewed).timestamp() + seconds < now
