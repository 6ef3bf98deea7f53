"""Listening sockets, and the graceful end of a server."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol
from weakref import WeakValueDictionary

from simkit.meta.errors import SimkitError

# Listening sockets, and a record of the server in this process that holds each port

_HOLDERS: WeakValueDictionary[int, object] = WeakValueDictionary()
_BACKLOG = 2048


def listen(host: str, port: int, holder: object) -> socket.socket:
    """A socket that listens; port 0 picks a free one.

    Raises SimkitError where the port is taken, naming the holder when it is a server of this process.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            # A port whose last server is gone can be had at once; a port that is listened on cannot.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise SimkitError(_why(host, port, error)) from error
    sock.setblocking(False)
    _HOLDERS[sock.getsockname()[1]] = holder
    return sock


def allow_many_connections() -> None:
    """Raise this process's limit of open files to the maximum, since each connection is one."""
    if sys.platform == "win32":
        return
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):  # some systems promise more than they give
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def release(port: int, holder: object) -> None:
    """Remove the record that the holder has the port."""
    if _HOLDERS.get(port) is holder:
        del _HOLDERS[port]


def _why(host: str, port: int, error: OSError) -> str:
    if error.errno != errno.EADDRINUSE:
        return f"cannot listen on {host} port {port}: {error.strerror or error}"
    holder = _HOLDERS.get(port)
    if holder is not None:
        return f"port {port} is held by {holder!r} in this process; stop() it first, or choose another port"
    return f"port {port} on {host} is held by another process; stop that, or choose another port"


def is_loopback(host: str) -> bool:
    """True if an address reaches this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def reachable(host: str) -> str:
    """The host at which a client on this machine reaches a server bound to an address, ready for a URL.

    Examples
    --------
    >>> reachable("0.0.0.0"), reachable("::1")
    ('127.0.0.1', '[::1]')
    """
    if host in ("0.0.0.0", ""):  # noqa: S104 - compared with, not bound to
        return "127.0.0.1"
    if host == "::":
        return "[::1]"
    return f"[{host}]" if ":" in host else host


# Graceful shutdown: health checks fail first, then watches end, then the server stops.
# References: k8s.io/apiserver/pkg/server/genericapiserver.go and lifecycle_signals.go, release 1.30.

_LOOK_EVERY: Final = 0.05


@dataclass(frozen=True, slots=True)
class ShutdownOptions:
    """The steps of a server between the signal and its end; times are in seconds."""

    delay: float = 0.0
    """The delay in which it serves as before but is not ready, so that load balancers send no new requests."""
    send_retry_after: bool = False
    """True if it then still listens, and answers new requests with 429 until running ones are done."""
    watches: float = 0.0
    """The time over which its watches end, one by one."""
    patience: float = 60.0
    """The time that running requests get to finish."""


class ShutdownTarget(Protocol):
    """The steps of an engine when its server is about to shut down."""

    @property
    def busy(self) -> bool:
        """True if requests are being handled."""
        ...

    def prepare(self) -> None:
        """Make readiness checks fail, because the server is about to shut down."""
        ...

    def refuse(self) -> None:
        """Answer further requests with 429 and Retry-After."""
        ...


class GracefulShutdown:
    """Carries out a shutdown in a thread of its own. A second signal stops the server at once.

    Parameters
    ----------
    engine
        Tells and refuses.
    end_streams
        Ends all watches over some seconds.
    stop
        Stops the server; may be called from any thread.
    """

    def __init__(
        self,
        farewell: ShutdownOptions,
        engine: ShutdownTarget,
        end_streams: Callable[[float], None],
        stop: Callable[[], None],
    ) -> None:
        self._farewell, self._engine = farewell, engine
        self._end_streams, self._stop = end_streams, stop
        self._told = False

    def begin(self) -> None:
        """Start the shutdown; also from a signal handler."""
        if self._told:
            self._stop()
            return
        self._told = True
        threading.Thread(target=self._leave, name="simkit-leaving", daemon=True).start()

    def _leave(self) -> None:
        farewell = self._farewell
        self._engine.prepare()
        time.sleep(farewell.delay)
        if farewell.send_retry_after:
            self._engine.refuse()
            end = time.monotonic() + farewell.patience
            while self._engine.busy and time.monotonic() < end:
                time.sleep(_LOOK_EVERY)
        if farewell.watches:
            self._end_streams(farewell.watches)
            time.sleep(farewell.watches)
        self._stop()
