"""A small HTTPS service on loopback, with an authority of its own, for everything that calls outside."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

from simkit.engine.http.keypair import KeyPair, make_authority

SPAN = (datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=20000))
Reply = Callable[[str, Any], tuple[int, Any]]
"""From a path and a decoded body to a status and an answer."""


@dataclass
class Service:
    """A running service: what it was asked, and how to reach it."""

    authority: KeyPair
    url: str = ""
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    """Path, headers in lower case, decoded body."""
    location: str = ""
    """Where answers say that one should look instead."""

    def kubeconfig(self, path: Path, *, route: str = "/authorize", **user: Any) -> Path:
        """A client configuration for one of its paths, with the authority in a file beside it."""
        (path.parent / "ca.pem").write_bytes(self.authority.certificate_pem())
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "it", "cluster": {"server": self.url + route, "certificate-authority": "ca.pem"}}],
            "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "here", "context": {"cluster": "it", "user": "me"}}],
            "current-context": "here",
        }
        path.write_bytes(orjson.dumps(document))
        return path


@contextmanager
def serving(folder: Path, reply: Reply, *, clients: bool = False, names: tuple[str, ...] = ()) -> Iterator[Service]:
    """A service over HTTPS; with ``clients`` it insists on certificates of its authority. ``names`` are further hosts."""
    authority = make_authority("test-authority", SPAN)
    pair = authority.sign_server("localhost", (["localhost", *names], ["127.0.0.1"]), SPAN)
    (folder / "service.pem").write_bytes(pair.certificate_pem() + pair.key_pem())
    service = Service(authority)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            self._answer(orjson.loads(body) if body else None)

        def do_GET(self) -> None:
            self._answer(None)

        def _answer(self, sent: Any) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            service.requests.append((self.path, headers, sent))
            status, answer = reply(self.path, sent)
            content = answer if isinstance(answer, bytes) else orjson.dumps(answer)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            if service.location:
                self.send_header("location", service.location)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "service.pem")
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=authority.certificate_pem().decode())

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """A client that breaks off is part of some tests."""

    server = Quiet(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    service.url = f"https://127.0.0.1:{server.server_port}"
    with running(server):
        yield service


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[None]:
    """A server that answers in a thread of its own."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
