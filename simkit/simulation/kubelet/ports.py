"""The default listeners on ports of a pod.

Web servers that everybody knows serve the files of their container. Else a request of HTTP/1 is answered with 200 and
a text that names the pod, the port and the request line; any other bytes come back as they are.

A pod that names ports, in its specification or in the command of a program that the small shell does not have,
listens on those alone. One that names none listens on all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.client.lister import uid_of
from simkit.meta.errors import StatusError
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.seams import PortHandler
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.images import WEB_SERVERS, image_name
from simkit.simulation.kubelet.processes import Processes
from simkit.simulation.kubelet.shell import UnknownCommand, check_known
from simkit.simulation.shell.files import FileError, Files

_REQUEST: Final = re.compile(rb"([A-Z]{3,7}) (\S{1,8192}) HTTP/1\.[01]\r\n")
_LAST: Final = re.compile(rb"\A[^\r\n]* HTTP/1\.0\r?$|^connection:[ \t]*close[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
"""The words of a client that sends no further request."""
_NUMBER: Final = re.compile(r"(?:^|.*[:=])(\d{2,5})")
_PROBES: Final = ("readinessProbe", "livenessProbe", "startupProbe")
_MOST_HEAD: Final = 64 * 1024
_HTTP: Final = 80


def named_ports(pod: Object) -> frozenset[int]:
    """The ports that a pod names; empty for one that names none.

    Examples
    --------
    >>> sorted(named_ports({"spec": {"containers": [{"ports": [{"containerPort": 80}], "command": ["srv", "-p=81"]}]}}))
    [80, 81]
    """
    containers = (*(at(pod, "spec", "containers") or ()), *(at(pod, "spec", "initContainers") or ()))
    return frozenset(port for container in containers for port in _of_container(container))


def _of_container(container: Mapping[str, Any]) -> Iterator[int]:
    for port in container.get("ports") or ():
        if (port.get("protocol") or "TCP") == "TCP":
            yield port["containerPort"]
    for probe in _PROBES:
        for handler in ("httpGet", "tcpSocket", "grpc"):
            found = at(container, probe, handler, "port")
            if isinstance(found, int):
                yield found
    if image_name(container.get("image", "")) in WEB_SERVERS and not container.get("command"):
        yield 80
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    try:
        check_known(words)
    except UnknownCommand:
        yield from (int(found[1]) for found in map(_NUMBER.fullmatch, words) if found is not None)


def refused(pod: Object, port: int) -> StatusError:
    """The error of a connection to a port on which nothing listens, as containerd tells it."""
    sandbox = hashlib.sha256(f"sandbox\0{uid_of(pod)}".encode()).hexdigest()
    text = (
        f"error forwarding port {port} to pod {sandbox}, uid : failed to execute portforward in network namespace "
        f'"/var/run/netns/cni-{uid_of(pod)}": failed to connect to localhost:{port} inside namespace "{sandbox}", '
        f"IPv4: dial tcp4 127.0.0.1:{port}: connect: connection refused "
        "IPv6 dial tcp6: address localhost: no suitable address"
    )
    return StatusError(500, "InternalError", text)


def listener(pod: Object, port: int, behaviours: Behaviours, processes: Processes) -> PortHandler:
    """The handler of a port. Raises 500 where nothing listens."""
    told = behaviours.port(pod, port)
    if told is not None:
        return told
    named = named_ports(pod)
    if named and port not in named:
        raise refused(pod, port)
    for container in at(pod, "spec", "containers") or ():
        if port == _HTTP and image_name(container.get("image", "")) in WEB_SERVERS:
            return WebServer(processes.files(pod, container), container["image"])
    return Echo(pod, port)


class Echo:
    """The built-in handler of a port.

    Examples
    --------
    >>> answer = Echo({"metadata": {"namespace": "dev", "name": "web"}}, 80)
    >>> answer(b"PING")
    b'PING'
    >>> (answer(b"GET /a HTTP/1.1\\r\\n") + answer(b"\\r\\n")).splitlines()[0], answer.closed
    (b'HTTP/1.1 200 OK', True)
    """

    def __init__(self, pod: Object, port: int) -> None:
        self._where, self._kept = f"{namespace_of(pod)}/{name_of(pod)}:{port}", b""
        self.closed = False
        """True once it has answered a request of HTTP."""

    def __call__(self, data: bytes) -> bytes:
        """The answer to what a client sends."""
        self._kept += data
        if _REQUEST.match(self._kept) is not None and b"\r\n\r\n" not in self._kept and len(self._kept) < _MOST_HEAD:
            return b""
        given, self._kept = self._kept, b""
        if _REQUEST.match(given) is None:
            return given
        self.closed = True
        line = given.partition(b"\r\n")[0].decode("latin-1")
        body = f"{self._where} {line}\n".encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + body


class WebServer:
    """The handler of a web server that serves the files of its container.

    Examples
    --------
    >>> answer = WebServer(Files({"/usr/share/nginx/html/a.txt": "hi"}), "nginx")
    >>> answer(b"GET /a.txt HTTP/1.1\\r\\n") + answer(b"\\r\\n")
    b'HTTP/1.1 200 OK\\r\\nServer: nginx\\r\\nContent-Type: text/plain\\r\\nContent-Length: 2\\r\\n\\r\\nhi'
    >>> answer.closed, len(answer(b"GET /a.txt HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n")) > 2, answer.closed
    (False, True, True)
    """

    def __init__(self, files: Files, image: str) -> None:
        self._files, self._name = files, image_name(image)
        self._kept = b""
        self.closed = False
        """True once it has answered a request after which it keeps no connection."""

    def __call__(self, data: bytes) -> bytes:
        """The answers to the requests that are complete now."""
        self._kept += data
        made = b""
        while b"\r\n\r\n" in self._kept and not self.closed:
            head, _, self._kept = self._kept.partition(b"\r\n\r\n")
            made += _page(self._files, WEB_SERVERS[self._name].folder, self._name, head + b"\r\n")
            self.closed = _LAST.search(head) is not None
        if len(self._kept) > _MOST_HEAD or self.closed:
            self._kept = b""
        return made


def request_line(data: bytes) -> tuple[str, str] | None:
    """The method and the target of a request of HTTP/1; None for other bytes.

    Examples
    --------
    >>> request_line(b"GET /a?b HTTP/1.1\\r\\n")
    ('GET', '/a?b')
    """
    found = _REQUEST.match(data)
    return None if found is None else (found[1].decode(), found[2].decode("latin-1"))


def _page(files: Files, folder: str, server: str, head: bytes) -> bytes:
    found = request_line(head)
    if found is None:
        return _response(server, "400 Bad Request", "text/html", b"<h1>400 Bad Request</h1>\n")
    path = found[1].partition("?")[0]
    path += "index.html" if path.endswith("/") else ""
    try:
        body, status = files.read(f"{folder}/{path.lstrip('/')}"), "200 OK"
    except FileError:
        body, status = b"<h1>404 Not Found</h1>\n", "404 Not Found"
    kind = "text/plain" if path.endswith(".txt") and status == "200 OK" else "text/html"
    made = _response(server, status, kind, body)
    return made[: -len(body)] if found[0] == "HEAD" and body else made


def _response(server: str, status: str, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nServer: {server}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
