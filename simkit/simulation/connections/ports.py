"""The default listeners on ports of a pod.

A request of HTTP/1 is answered with 200 and a text that names the pod, the port and the request line; any other bytes
come back as they are.
"""

from __future__ import annotations

import re
from typing import Final

from simkit.engine.seams import PortHandler
from simkit.meta.objects import Object, name_of, namespace_of

_REQUEST: Final = re.compile(rb"[A-Z]{3,7} (\S{1,8192}) HTTP/1\.[01]\r\n")


def echo(pod: Object, port: int) -> PortHandler:
    """The built-in handler of a port.

    Examples
    --------
    >>> answer = echo({"metadata": {"namespace": "dev", "name": "web"}}, 80)
    >>> answer(b"PING")
    b'PING'
    >>> answer(b"GET /a HTTP/1.1\\r\\n\\r\\n").splitlines()[0]
    b'HTTP/1.1 200 OK'
    """
    where = f"{namespace_of(pod)}/{name_of(pod)}:{port}"

    def answer(data: bytes) -> bytes:
        found = _REQUEST.match(data)
        if found is None:
            return data
        line = data.partition(b"\r\n")[0].decode("latin-1")
        body = f"{where} {line}\n".encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + body

    return answer
