"""A small engine of its own kind, so that the HTTP floor is tested apart from the handler chain, and clients for it."""

from __future__ import annotations

import http.client
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from simkit.engine.http.message import error_response
from simkit.engine.http.request_state import ExecutionMode
from simkit.meta.errors import StatusError
from simkit.meta.message import Request, Response


class FedStream:
    """A stream that is fed by a test: the frames so far, and a place in them."""

    def __init__(self, frames: list[bytes], deadline: float | None = None) -> None:
        self.frames, self.deadline, self.closed = frames, deadline, False
        self.place = 0
        self.blocks = self.computes = self.behind = False
        self.polls = 0
        self.closings = 0
        self.callbacks: list[Callable[[], None]] = []

    def poll(self, limit: int = 512) -> list[bytes]:
        self.polls += 1
        ready = self.frames[self.place : self.place + limit]
        self.place += len(ready)
        return ready

    def bookmark(self) -> list[bytes]:
        return []

    def on_change(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)

    def close(self) -> None:
        self.closed = True
        self.closings += 1


@dataclass
class AuthorizeAll:
    """The entrance of an engine that lets everybody in."""

    answer: Callable[[Request], Response]
    request: Request

    def receive(self, body: bytes) -> Response:
        return self.answer(replace(self.request, body=body))

    def fail(self, error: StatusError) -> Response:
        return error_response(error)

    def give_up(self) -> None: ...


@dataclass
class EchoHandler:
    """An engine that remembers requests, echoes them, and opens taps."""

    requests: list[Request] = field(default_factory=list)
    taps: list[FedStream] = field(default_factory=list)
    frames: list[bytes] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)

    def at_once(self, request: Request) -> Response | None:
        """No answer is known beforehand."""
        return None

    def refresh(self) -> None:
        """There are no other servers."""

    def execution_mode(self, request: Request) -> ExecutionMode:
        return ExecutionMode.of(computes=request.path.startswith("/computing"), waits=request.path == "/blocking")

    def enter(self, request: Request) -> AuthorizeAll:
        return AuthorizeAll(self.answer, request)

    def answer(self, request: Request) -> Response:
        self.requests.append(request)
        self.threads.add(threading.current_thread().name)
        match request.path:
            case "/blocking":
                time.sleep(0.05)
                return Response(200, b"{}")
            case "/stream":
                tap = FedStream(self.frames, float(request.option("timeoutSeconds") or 0) or None)
                self.taps.append(tap)
                return Response(200, stream=tap)
            case "/large":
                return Response(200, b"x" * int(request.option("size")), "text/plain")
            case "/headers":
                return Response(200, b"{}", headers=[("Warning", "299 - a\r\nset-cookie: b"), ("Warning", "299 - c")])
            case "/empty":
                return Response(304)
        echoed = {"method": request.method, "path": request.path, "query": request.query, "size": len(request.body)}
        return Response(200, orjson.dumps(echoed))

    def write(self, frame: bytes) -> None:
        """Write as a writer does: the frame can be read, then each callback is called once."""
        self.frames.append(frame)
        for callback in {callback for tap in self.taps if not tap.closed for callback in tap.callbacks}:
            callback()


@dataclass
class Answer:
    """The answer that a client got."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def object(self) -> Any:
        return orjson.loads(self.body)


class Client:
    """A connection to a server, plain or with TLS, with a client certificate or without."""

    def __init__(self, url: str, tls: ssl.SSLContext | None = None) -> None:
        scheme, _, rest = url.partition("://")
        self.host, _, port = rest.partition(":")
        self.port = int(port)
        self.connection: http.client.HTTPConnection
        if scheme == "https":
            self.connection = http.client.HTTPSConnection(self.host, self.port, timeout=10, context=tls)
        else:
            self.connection = http.client.HTTPConnection(self.host, self.port, timeout=10)

    def ask(self, method: str, target: str, body: bytes | None = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, target, body, named)
        response = self.connection.getresponse()
        return Answer(response.status, response.headers, response.read())

    def close(self) -> None:
        self.connection.close()


def trusting(authority: Path) -> ssl.SSLContext:
    """A client's TLS context that trusts the server's authority alone."""
    return ssl.create_default_context(cafile=str(authority))


def eventually(condition: Callable[[], bool], seconds: float = 5) -> bool:
    """True if a condition comes true within some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
