"""The server of a simulated kubelet: its pages, commands in containers, and logs.

Upstream: pkg/kubelet/server/server.go, pkg/kubelet/kuberuntime/kuberuntime_container.go (RunInContainer) and
pkg/kubelet/kubelet.go (ServeLogs), release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from simkit.meta.errors import StatusError
from simkit.meta.go_number import parse_int
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.meta.podspec import containers_of
from simkit.simulation.connections.container_log import LogStream
from simkit.simulation.connections.http_answer import JSON, TEXT, answered, not_allowed, not_found
from simkit.simulation.connections.node_logs import NodeLogs
from simkit.simulation.kubelet.ports import request_line

_FLAGS: Final = ("previous", "timestamps")
_NUMBERS: Final = ("tailLines", "sinceSeconds", "limitBytes")
_STREAMED: Final = ("exec", "attach", "portForward")
"""Paths of connections that change their protocol, which come here only if they do not."""


class Finished(NamedTuple):
    """The end of a command: what it printed, and the reason why it failed; empty where it did not."""

    output: bytes
    failure: str = ""


class Containers(Protocol):
    """The containers of a node, for the server of its kubelet."""

    def run(self, pod: Object, container: str, command: Sequence[str]) -> Finished:
        """Run a command to its end. Raises a StatusError for a container that does not run."""
        ...

    def log(self, pod: Object, container: str, options: Mapping[str, Any]) -> bytes | LogStream:
        """The log of a container. Raises a StatusError where there is none."""
        ...

    def log_file(self, pod: Object, container: str) -> bytes | None:
        """The log of a container as it is in a file of its node; None where there is none."""
        ...


class _Asked(NamedTuple):
    """A request: its method, the parts of its path, and its query."""

    method: str
    parts: Sequence[str]
    query: Mapping[str, Sequence[str]]

    def first(self, name: str) -> str:
        """The first value of a parameter, else nothing."""
        return next(iter(self.query.get(name, ())), "")


class KubeletServer:
    """The answers of a kubelet to requests of HTTP.

    Parameters
    ----------
    pages
        Answers at fixed paths.
    pods
        Gives the pods of the node.
    containers
        Runs commands, and has logs.

    Notes
    -----
    Whoever reaches a simulated kubelet was authorized by kube-apiserver, whose own certificate may do everything here.
    A log that is followed is told so far.
    """

    def __init__(
        self, pages: Callable[[bytes], bytes], pods: Callable[[], Sequence[Object]], containers: Containers
    ) -> None:
        self._pages, self._pods, self._containers = pages, pods, containers

    def __call__(self, data: bytes) -> bytes:
        """The answer to one whole request."""
        asked = _asked(data)
        if asked is None or not asked.parts:
            return self._pages(data)
        kind = asked.parts[0]
        if kind == "run":
            return self._run(asked)
        if kind in _STREAMED:
            return self._not_upgraded(asked)
        if kind == "containerLogs":
            return self._container_log(asked)
        if kind == "logs":
            path = urlsplit((request_line(data) or ("", ""))[1]).path
            return NodeLogs(self._pods(), self._containers.log_file).answer(asked.method, unquote(path))
        return self._pages(data)

    def _pod(self, namespace: str, name: str) -> Object | None:
        return next((pod for pod in self._pods() if (namespace_of(pod), name_of(pod)) == (namespace, name)), None)

    def _run(self, asked: _Asked) -> bytes:
        """``/run/NAMESPACE/POD[/UID]/CONTAINER?cmd=WORDS``: the words of the command stand between blanks."""
        if len(asked.parts) not in (4, 5):
            return not_found()
        if asked.method != "POST":
            return not_allowed()
        pod = self._pod(asked.parts[1], asked.parts[2])
        if pod is None:
            return answered("404 Not Found", TEXT, b"pod does not exist")
        name = asked.parts[-1]
        if len(asked.parts) == 5 and asked.parts[3] != at(pod, "metadata", "uid"):
            return _failed(f'container not found ("{name}")')
        try:
            done = self._containers.run(pod, name, asked.first("cmd").split(" "))
        except StatusError as error:
            return _failed(error.message)
        return answered("200 OK", JSON, done.output) if not done.failure else _failed(done.failure)

    def _not_upgraded(self, asked: _Asked) -> bytes:
        if len(asked.parts) not in ((3, 4) if asked.parts[0] == "portForward" else (4, 5)):
            return not_found()
        if asked.method not in ("GET", "POST"):
            return not_allowed()
        if asked.parts[0] != "portForward" and not any(
            asked.first(name) == "1" for name in ("input", "output", "error")
        ):
            return answered("400 Bad Request", TEXT, b"you must specify at least 1 of stdin, stdout, stderr")
        if self._pod(asked.parts[1], asked.parts[2]) is None:
            return answered("404 Not Found", TEXT, b"pod does not exist")
        return answered("500 Internal Server Error", TEXT, b"Upgrade request required\n")

    def _container_log(self, asked: _Asked) -> bytes:
        """``/containerLogs/NAMESPACE/POD/CONTAINER``, with the options of a pod's log."""
        if len(asked.parts) != 4:
            return not_found()
        if asked.method != "GET":
            return not_allowed()
        try:
            options = _log_options(asked)
        except ValueError:
            return answered("400 Bad Request", TEXT, b'{"message": "Unable to decode query."}')
        if any(options.get(name, least) < least for name, least in (("tailLines", 0), ("limitBytes", 1))):
            return answered("422 Unprocessable Entity", TEXT, b'{"message": "Invalid request."}')
        name, container = asked.parts[2:]
        pod = self._pod(asked.parts[1], name)
        if pod is None:
            return answered("404 Not Found", TEXT, f'pod "{name}" does not exist'.encode())
        if container not in [each.get("name") for each in containers_of(pod.get("spec") or {})]:
            return answered("404 Not Found", TEXT, f'container "{container}" not found in pod "{name}"'.encode())
        try:
            found = self._containers.log(pod, container, options)
        except StatusError as error:
            return answered("400 Bad Request", TEXT, error.message.encode())
        return answered("200 OK", TEXT, found if isinstance(found, bytes) else b"")


def _asked(data: bytes) -> _Asked | None:
    line = request_line(data)
    if line is None:
        return None
    target = urlsplit(line[1])
    parts = [unquote(part) for part in target.path.strip("/").split("/") if part]
    return _Asked(line[0], parts, parse_qs(target.query, keep_blank_values=True))


def _log_options(asked: _Asked) -> dict[str, Any]:
    """The options of a log; ``tail`` is an old name of ``tailLines``. Raises ValueError."""
    tail = asked.first("tail")
    given = {name: asked.first(name) for name in (*_NUMBERS, "sinceTime") if name in asked.query}
    if tail:
        given["tailLines"] = tail
        if tail == "all":
            del given["tailLines"]
    found: dict[str, Any] = {name: parse_int(text) if name in _NUMBERS else text for name, text in given.items()}
    return found | {name: asked.first(name).lower() not in ("false", "0") for name in _FLAGS if name in asked.query}


def _failed(text: str) -> bytes:
    return answered("500 Internal Server Error", TEXT, text.encode())
