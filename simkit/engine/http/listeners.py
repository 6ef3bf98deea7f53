"""Listening sockets, and the addresses at which clients reach them."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import sys
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
