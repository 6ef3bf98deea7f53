"""The folder ``/var/log`` of a simulated node, which holds the logs of containers and nothing else.

Upstream: pkg/kubelet/kubelet.go (ServeLogs), pkg/kubelet/kuberuntime/legacy.go and helpers.go (names of the files) and
pkg/kubelet/kuberuntime/logs/logs.go (their lines), release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from simkit.engine.controllers.lister import uid_of
from simkit.meta.escaping import html_text
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.simulation.connections.http_answer import TEXT, answered, not_allowed

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
