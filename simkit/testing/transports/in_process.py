"""The part that all transports share: a request of a client library, answered by a cluster of this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from simkit.cluster.cluster import Cluster
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import DROPPED, Request, Response

if TYPE_CHECKING:
    from simkit.engine.http.request_state import WatchStream

NEEDS_A_SOCKET: Final = (
    "exec, attach and port-forward need a socket, which this client does not open in the same process; "
    "use the fixture `kubeconfig`, or cluster.serve()"
)
_LONGEST_WATCH: Final = 300.0
_CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_TURN: Final = 0.05
"""Seconds after which a watch that hears nothing looks whether its client still wants it."""


@dataclass(slots=True)
class InProcessServer:
    """A cluster as client libraries see it.

    Attributes
    ----------
    cluster
        Answers the requests.
    identity
        In whose name requests are made that carry no credentials of their own.
    settles
        Whether controllers, scheduler and kubelets do their work after each change, before the client goes on.
    """

    cluster: Cluster
    identity: Identity = field(default_factory=administrator)
    settles: bool = True

    def answer(
        self, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes | str | None = None
    ) -> Response:
        """The answer to one request.

        Raises ConnectionError where a fault drops the connection, and SimkitError for one whose protocol changes.
        """
        parts = urlsplit(url)
        sent: dict[str, list[str]] = {}
        for name, value in headers:
            if name.lower() != "accept-encoding":
                sent.setdefault(name.lower(), []).append(value)
        data = body.encode() if isinstance(body, str) else body or b""
        query = parse_qs(parts.query, keep_blank_values=True)
        request = Request(method.upper(), parts.path or "/", query, sent, data)
        identity = None if "authorization" in sent else self.identity
        response = serve_request(self.cluster.engine, request, identity, client=True)
        if response.status == DROPPED:
            raise ConnectionError("the connection was dropped by a fault")
        if response.upgrade is not None:
            raise SimkitError(NEEDS_A_SOCKET)
        if self.settles and response.status < 400 and request.method in _CHANGING:
            self.cluster.settle()
        return response


def headers_of(response: Response) -> list[tuple[str, str]]:
    """The headers of an answer, with its media type."""
    return [("Content-Type", response.content_type), *response.headers]


def chunks(stream: WatchStream, *, ends: Callable[[], bool] = lambda: False) -> Iterator[bytes]:
    """The frames of a watch as they come, until it ends. Waits for them in this thread."""
    wait: Any = getattr(stream, "wait", None)
    deadline = time.monotonic() + (_LONGEST_WATCH if stream.deadline is None else stream.deadline)
    try:
        while not ends():
            frames = stream.poll()
            yield from frames
            if not frames:
                if stream.closed or time.monotonic() >= deadline:
                    return
                if wait is None or not wait(min(_TURN, max(0.0, deadline - time.monotonic()))):
                    time.sleep(0)
    finally:
        stream.close()


def plain_headers(headers: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Headers of a client library as pairs of texts."""
    return [(str(name), str(value)) for name, value in headers.items()]
