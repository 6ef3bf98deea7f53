"""Check of the ports of ``simkit serve``, before anything is loaded."""

from __future__ import annotations

import errno
import socket
import sys
from typing import Final

from simkit.meta.errors import SimkitError

_TRIED: Final = 100
"""The number of following ports that are tried for a proposal."""


def check_ports(bind_address: str, secure_port: int, insecure_port: int) -> None:
    """Check that a server can listen on its ports; 0 means that it does not listen.

    Raises
    ------
    SimkitError
        Where it has no port at all, the same one twice, or one that is taken: with the flag and a free port.
    """
    if not (secure_port or insecure_port):
        raise SimkitError("a server needs a port: --secure-port PORT for HTTPS, --insecure-port PORT, or both")
    if secure_port == insecure_port:
        raise SimkitError(f"--secure-port and --insecure-port cannot both be {secure_port}")
    if secure_port:
        _check(bind_address, secure_port, "--secure-port")
    if insecure_port:
        _check("127.0.0.1", insecure_port, "--insecure-port")


def _check(host: str, port: int, flag: str) -> None:
    error = _refusal(host, port)
    if error is None:
        return
    if error.errno != errno.EADDRINUSE:
        raise SimkitError(f"cannot listen on {host} port {port}: {error.strerror or error}")
    free = next((each for each in range(port + 1, min(port + _TRIED, 65536)) if _refusal(host, each) is None), None)
    advice = f"use {flag} {free}, which is free" if free else f"choose another port with {flag}"
    raise SimkitError(f"port {port} on {host} is in use; stop the other program, or {advice}")


def _refusal(host: str, port: int) -> OSError | None:
    """The error of listening on an address, or None."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            if sys.platform != "win32":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            return error
    return None
