"""The server of a simulated kubelet: its health, its pods, and commands in containers.

Upstream: pkg/kubelet/server/server.go and pkg/kubelet/kuberuntime/kuberuntime_container.go (``RunInContainer``),
release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from simkit.meta import go_json
from simkit.meta.errors import StatusError
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.simulation.kubelet.ports import request_line

# Answers of a simulated kubelet in HTTP/1.1

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"


def answered(status: str, kind: str, body: bytes, *, shown: bool = True) -> bytes:
    """An answer of HTTP/1.1; without its body where it is not shown.

    Examples
    --------
    >>> answered("200 OK", "text/plain", b"ok")
    b'HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: 2\\r\\n\\r\\nok'
    """
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + (body if shown else b"")


def not_found() -> bytes:
    """The answer of the kubelet's router to a path that it does not know below one that it knows."""
    return answered("404 Not Found", TEXT, b"404: Page Not Found")


def not_allowed() -> bytes:
    """The answer to a method that a path does not have."""
    return answered("405 Method Not Allowed", TEXT, b"405: Method Not Allowed")


_STREAMED: Final = ("exec", "attach", "portForward")
"""Paths of connections that change their protocol, which come here only if they do not."""
_NOT_SIMULATED: Final = ("containerLogs", "logs", "runningpods")
"""Paths of a kubelet that a simulated one does not have."""


class Finished(NamedTuple):
    """The end of a command: what it printed, and the reason why it failed; empty where it did not."""

    output: bytes
    failure: str = ""


Run = Callable[[Object, str, Sequence[str]], Finished]
"""Runs a command in a container of a pod to its end. Raises a StatusError for a container that does not run."""


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
    pods
        Gives the pods of the node.
    run
        Runs commands.

    Notes
    -----
    Whoever reaches a simulated kubelet was authorized by kube-apiserver, whose own certificate may do everything here.
    """

    def __init__(self, pods: Callable[[], Sequence[Object]], run: Run) -> None:
        self._pods, self._run_command = pods, run

    def __call__(self, data: bytes) -> bytes:
        """The answer to one whole request."""
        asked = _asked(data)
        if asked is None:
            return answered("400 Bad Request", TEXT, b"400 Bad Request")
        kind = next(iter(asked.parts), "")
        if kind == "run":
            return self._run(asked)
        if kind in _STREAMED:
            return self._not_upgraded(asked)
        if kind in _NOT_SIMULATED:
            return answered("501 Not Implemented", TEXT, f"a simulated kubelet has no /{kind}\n".encode())
        return self._page(asked)

    def _page(self, asked: _Asked) -> bytes:
        if asked.parts not in (["healthz"], ["pods"]):
            return answered("404 Not Found", TEXT, b"404 page not found\n")
        if asked.method not in ("GET", "HEAD"):
            return not_allowed()
        shown = asked.method == "GET"
        if asked.parts == ["healthz"]:
            return answered("200 OK", TEXT, b"ok", shown=shown)
        items = [
            {name: part for name, part in pod.items() if name not in ("kind", "apiVersion")} for pod in self._pods()
        ]
        listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}
        return answered("200 OK", JSON, go_json.encode(listed) + b"\n", shown=shown)

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
            done = self._run_command(pod, name, asked.first("cmd").split(" "))
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


def _asked(data: bytes) -> _Asked | None:
    line = request_line(data)
    if line is None:
        return None
    target = urlsplit(line[1])
    parts = [unquote(part) for part in target.path.strip("/").split("/") if part]
    return _Asked(line[0], parts, parse_qs(target.query, keep_blank_values=True))


def _failed(text: str) -> bytes:
    return answered("500 Internal Server Error", TEXT, text.encode())
