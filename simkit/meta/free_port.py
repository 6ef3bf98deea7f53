"""A free TCP port of this machine."""

from __future__ import annotations

import socket


def free_port() -> int:
    """The number of a TCP port on 127.0.0.1 that nobody listens on now.

    Returns
    -------
    The port. Another process may take it before the caller does.

    Examples
    --------
    >>> 0 < free_port() < 65536
    True
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
