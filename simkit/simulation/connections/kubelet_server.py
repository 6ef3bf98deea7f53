"""The server of a simulated kubelet: its pages, and the logs of its node and of containers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import parse_qs, quote, unquote, urlsplit

from simkit.client.lister import uid_of
from simkit.meta import go_json
from simkit.meta.errors import StatusError
from simkit.meta.go_number import parse_int
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.meta.podspec import containers_of
from simkit.meta.visible_text import html_text
from simkit.simulation.connections.terminal import LogStream
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


# The folder ``/var/log`` of a simulated node, which holds the logs of containers and nothing else.
# Upstream: pkg/kubelet/kubelet.go (ServeLogs), pkg/kubelet/kuberuntime/legacy.go and helpers.go (names of the files)
# and pkg/kubelet/kuberuntime/logs/logs.go (their lines), release 1.30.

_HTML: Final = "text/html; charset=utf-8"
_STATUSES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_ID_LENGTH: Final = 64
_MOVED: Final = "HTTP/1.1 301 Moved Permanently\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n"


class NodeLogs:
    """Files with the logs of containers, by path below ``/var/log``.

    Parameters
    ----------
    pods
        The pods of the node.
    text
        Gives the log of a container, or None.
    """

    def __init__(self, pods: Iterable[Object], text: Callable[[Object, str], bytes | None]) -> None:
        self._text = text
        self._files = dict(_files(pods))

    def answer(self, method: str, path: str) -> bytes:
        """The answer to a request for ``/logs/PATH``: a file, or a list of what is in a folder."""
        if method != "GET":
            return not_allowed()
        below = path.removeprefix("/logs").lstrip("/")
        if below in self._files:
            pod, container = self._files[below]
            found = self._text(pod, container)
            if found is not None:
                return answered("200 OK", TEXT, found)
        folder = below.rstrip("/") + "/" if below.strip("/") else ""
        inside = _inside(self._files, folder)
        if folder and not inside:
            return answered("404 Not Found", TEXT, b"404 page not found\n")
        if not path.endswith("/"):
            return _MOVED.format(quote(f"{path.rpartition('/')[2]}/")).encode()
        lines = "".join(f'<a href="{quote(name)}">{html_text(name)}</a>\n' for name in inside)
        return answered("200 OK", _HTML, f"<pre>\n{lines}</pre>\n".encode())


def _inside(files: Mapping[str, Any], folder: str) -> list[str]:
    """The names in a folder, those of folders with a slash."""
    rests = [path[len(folder) :].partition("/") for path in files if path.startswith(folder)]
    return sorted({name + slash for name, slash, _ in rests} | ({"containers/", "pods/"} if not folder else set()))


def _files(pods: Iterable[Object]) -> Iterator[tuple[str, tuple[Object, str]]]:
    """The files of each container that has started: of its pod, and the link by its own name."""
    for pod in pods:
        for field in _STATUSES:
            for status in at(pod, "status", field) or ():
                runs, name = status.get("containerID") or "", str(status.get("name"))
                if runs:
                    own = f"{namespace_of(pod)}_{name_of(pod)}_{uid_of(pod)}/{name}/{status.get('restartCount', 0)}.log"
                    yield f"pods/{own}", (pod, name)
                    number = runs.rpartition("/")[2][:_ID_LENGTH]
                    yield f"containers/{name_of(pod)}_{namespace_of(pod)}_{name}-{number}.log", (pod, name)


# The pages that a simulated kubelet shows at its own port: its health, and its pods.
# Upstream: pkg/kubelet/server/server.go, release 1.30.


class KubeletPages:
    """The answers of a kubelet to requests of HTTP.

    Parameters
    ----------
    pods
        Gives the pods of the node.
    """

    def __init__(self, pods: Callable[[], Iterable[Object]]) -> None:
        self._pods = pods
        self._pages: Mapping[str, tuple[str, Callable[[], bytes]]] = {
            "/healthz": (TEXT, lambda: b"ok"),
            "/pods": (JSON, lambda: _listed(self._pods())),
            "/runningpods": (JSON, self._running_pods),
        }

    def __call__(self, data: bytes) -> bytes:
        """The answer to one whole request."""
        asked = request_line(data)
        if asked is None:
            return answered("400 Bad Request", TEXT, b"400 Bad Request")
        method, target = asked
        kind, page = self._pages.get(target.partition("?")[0].rstrip("/"), (TEXT, None))
        if page is None:
            return answered("404 Not Found", kind, b"404 page not found\n")
        if method not in ("GET", "HEAD"):
            return not_allowed()
        return answered("200 OK", kind, page(), shown=method == "GET")

    def _running_pods(self) -> bytes:
        """The pods that have running containers, as the container runtime knows them."""
        found: list[dict[str, Any]] = []
        for pod in self._pods():
            running = {
                each["name"]
                for told in ("initContainerStatuses", "containerStatuses")
                for each in at(pod, "status", told) or ()
                if at(each, "state", "running") is not None
            }
            specs = [*(at(pod, "spec", "initContainers") or ()), *(at(pod, "spec", "containers") or ())]
            shown = [
                {"name": each["name"], "image": each.get("image", ""), "resources": {}}
                for each in specs
                if each["name"] in running
            ]
            if shown:
                meta = {name: metadata(pod).get(name) for name in ("name", "namespace", "uid")}
                found.append({"metadata": meta, "spec": {"containers": shown}, "status": {}})
        return _listed(found)


def _listed(pods: Iterable[Object]) -> bytes:
    items = [{name: part for name, part in pod.items() if name not in ("kind", "apiVersion")} for pod in pods]
    return go_json.encode({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}) + b"\n"


# The server of a simulated kubelet: its pages, commands in containers, and logs.
# Upstream: pkg/kubelet/server/server.go, pkg/kubelet/kuberuntime/kuberuntime_container.go (RunInContainer) and
# pkg/kubelet/kubelet.go (ServeLogs), release 1.30.

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
