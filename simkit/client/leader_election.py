"""Runs controllers on one server at a time, of several that share a store: whoever holds a Lease.

Upstream: k8s.io/client-go/tools/leaderelection, release 1.30; the times are the defaults of kube-controller-manager.
"""

from __future__ import annotations

import logging
import os
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any, Final, Protocol

from simkit.meta.clock import Clock, micro_time
from simkit.meta.domain import SYSTEM_NAMESPACE, api_group
from simkit.meta.identity import AUTHENTICATED, Identity
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object
from simkit.meta.periodic import Periodic

_LOG: Final = logging.getLogger("simkit.controllers")
NAME: Final = "kube-controller-manager"
LEASE_SECONDS: Final = 15.0
"""Seconds for which a lease that was not renewed keeps others away."""
RENEW_SECONDS: Final = 10.0
"""After how long without a renewal the holder gives up by itself."""
RETRY_SECONDS: Final = 2.0

_PATH: Final = f"/apis/{api_group('coordination')}/v1/namespaces/{SYSTEM_NAMESPACE}/leases"
_USER: Final = Identity(f"system:{NAME}", (AUTHENTICATED,))


class Runner(Protocol):
    """The work that runs while the lease is held."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class LeaderElection:
    """Starts a runner when this server has the lease, and stops it when it cannot keep it.

    Parameters
    ----------
    perform
        Sends a request through the handler chain of this server.
    identity
        Names this server among the others; by default the host and a random part.

    Notes
    -----
    What others wrote is judged by when this server saw it, not by their clocks: a lease counts as held for
    ``LEASE_SECONDS`` after its last change was seen.
    """

    def __init__(
        self, runner: Runner, perform: Callable[[Request, Identity], Response], clock: Clock, identity: str = ""
    ) -> None:
        self._runner, self._perform, self._clock = runner, perform, clock
        self.identity = identity or f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4()}"
        self.leading = False
        self._seen: tuple[str, float] = ("", 0.0)
        self._renewed = 0.0
        self._tries = Periodic("simkit-leader-election", self.step, RETRY_SECONDS, at_once=True, patience=RENEW_SECONDS)

    def start(self) -> None:
        """Stand for election in the background until ``stop``."""
        self._tries.start()

    def stop(self) -> None:
        """Stop the runner, and give the lease away, so that another server need not wait for its end."""
        self._tries.stop()
        if self.leading:
            self._give_up()
            self._release()

    def step(self) -> None:
        """Try once to get or to renew the lease, and run or stop accordingly."""
        if self._try():
            self._renewed = time.monotonic()
            if not self.leading:
                _LOG.info("%s has the lease and runs the controllers", self.identity)
                self.leading = True
                self._runner.start()
        elif self.leading and time.monotonic() - self._renewed > RENEW_SECONDS:
            _LOG.warning("%s could not renew the lease and stops the controllers", self.identity)
            self._give_up()

    def _give_up(self) -> None:
        self.leading = False
        self._runner.stop()

    def _try(self) -> bool:
        found = self._send("GET", f"{_PATH}/{NAME}")
        if found.status == 404:
            lease = {"metadata": {"name": NAME, "namespace": SYSTEM_NAMESPACE}, "spec": self._spec({})}
            return self._send("POST", _PATH, lease).status == 201
        if found.status != 200:
            return False
        lease = found.object
        spec = lease.get("spec") or {}
        version = str(lease["metadata"]["resourceVersion"])
        if self._seen[0] != version:
            self._seen = version, time.monotonic()
        held = bool(spec.get("holderIdentity")) and time.monotonic() - self._seen[1] < LEASE_SECONDS
        if spec.get("holderIdentity") != self.identity and held:
            return False
        return self._put(lease, self._spec(spec))

    def _spec(self, old: Object) -> dict[str, Any]:
        """The spec of the lease when this server holds it."""
        now, mine = micro_time(self._clock.now()), old.get("holderIdentity") == self.identity
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(LEASE_SECONDS),
            "acquireTime": old.get("acquireTime", now) if mine else now,
            "renewTime": now,
            "leaseTransitions": int(old.get("leaseTransitions") or 0) + (0 if mine or not old else 1),
        }

    def _release(self) -> None:
        found = self._send("GET", f"{_PATH}/{NAME}")
        if found.status == 200 and (found.object.get("spec") or {}).get("holderIdentity") == self.identity:
            self._put(found.object, {**found.object["spec"], "holderIdentity": "", "leaseDurationSeconds": 1})

    def _put(self, lease: Object, spec: dict[str, Any]) -> bool:
        """True if the lease was as it was read, and is now as it should be."""
        return self._send("PUT", f"{_PATH}/{NAME}", {**lease, "spec": spec}).status == 200

    def _send(self, method: str, path: str, body: Object | None = None) -> Response:
        return self._perform(Request.of(method, path, body, headers={"user-agent": NAME}), _USER)
