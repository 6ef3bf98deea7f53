"""Requests per second over TLS: ``python -m tests.bench.bench_http [--seconds 5] [--peer URL --peer-token TOKEN]``.

The server runs in a process of its own (``simkit serve``), the load comes from this one. With ``--peer`` the same load
goes to another server beside it, where the token's user must be allowed to write config maps; its certificate is not
verified. Config maps of 1 KB are made in a namespace of their own, which is deleted in the end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import httptools
import orjson

from simkit.engine.http.serving import new_loop

TOKEN = "bench-token"
LISTED = 10_000
WATCHERS = 1_000
MEMORY = "KB of memory for each object"
PODS = 3_000


@dataclass(frozen=True)
class Target:
    """A server under load."""

    host: str
    port: int
    token: str
    pid: int | None = None
    """The server's process, where it is our own."""

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """The bytes of one request."""
        lines = [f"{method} {path} HTTP/1.1", f"host: {self.host}:{self.port}", f"authorization: Bearer {self.token}"]
        if body:
            lines += ["content-type: application/json", f"content-length: {len(body)}"]
        return "\r\n".join((*lines, "", "")).encode() + body


class Connection(asyncio.Protocol):
    """One connection that sends its next request as soon as the last one is answered."""

    def __init__(self, take: Callable[[], bytes | None]) -> None:
        self._take = take
        self.parser = httptools.HttpResponseParser(self)
        self.transport: asyncio.Transport | None = None
        self.done = asyncio.get_running_loop().create_future()
        self.wrong = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.next()

    def next(self) -> None:
        """Send another request, or close where there is none."""
        request = self._take()
        assert self.transport is not None
        if request is None:
            self.transport.close()
            if not self.done.done():
                self.done.set_result(None)
        else:
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_headers_complete(self) -> None:
        self.wrong += self.parser.get_status_code() >= 400

    def on_message_complete(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server closed the connection"))


async def load(target: Target, requests: Iterator[bytes], connections: int, *, seconds: float) -> tuple[int, float]:
    """The number of answered requests, and the seconds. The iterator's end ends the load early."""
    context = unverified()
    loop, sent = asyncio.get_running_loop(), 0
    end = loop.time() + seconds

    def take() -> bytes | None:
        nonlocal sent
        request = next(requests, None) if loop.time() < end else None
        sent += request is not None
        return request

    start = time.perf_counter()
    pairs = [
        await loop.create_connection(
            lambda: Connection(take), target.host, target.port, ssl=context, ssl_handshake_timeout=600
        )
        for _ in range(connections)
    ]
    await asyncio.gather(*(protocol.done for _, protocol in pairs))
    wrong = sum(protocol.wrong for _, protocol in pairs)
    if wrong:
        raise SystemExit(f"{wrong} of {sent} answers of {target.host}:{target.port} were refusals")
    return sent, time.perf_counter() - start


class Watcher(asyncio.Protocol):
    """One watch that notes when a marked event arrives."""

    def __init__(self, request: bytes, arrivals: asyncio.Queue[float]) -> None:
        self._request, self._arrivals = request, arrivals
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        seen = self._rest + data
        for _ in range(seen.count(b'"name":"mark-')):
            self._arrivals.put_nowait(time.perf_counter())
        self._rest = seen[-12:]


async def spread(target: Target, maps: str, watchers: int, rounds: int) -> float:
    """Milliseconds from sending one write until it has reached all watchers; the middle one of some rounds."""
    loop, arrivals, context = asyncio.get_running_loop(), asyncio.Queue[float](), unverified()
    request = target.request("GET", f"{maps}?watch=1&resourceVersion=0&fieldSelector=metadata.name!%3Dnone")
    opened = [
        await loop.create_connection(lambda: Watcher(request, arrivals), target.host, target.port, ssl=context)
        for _ in range(watchers)
    ]
    took = []
    for number in range(rounds + 1):  # the first also waits until all watches are open
        start = time.perf_counter()
        write = target.request("POST", maps, config_map(f"mark-{number}"))
        await load(target, iter([write]), 1, seconds=10)
        took.append(1000 * (max([await arrivals.get() for _ in range(watchers)]) - start))
    for transport, _ in opened:
        transport.close()
    return sorted(took[1:])[rounds // 2]


def unverified() -> ssl.SSLContext:
    """A client's TLS context that believes any server."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def config_map(name: str) -> bytes:
    """A config map of about 1 KB."""
    data = {f"key-{line}": f"{line}" * 140 for line in range(6)}
    return orjson.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def pod(name: str) -> bytes:
    """A pod with two containers, as people write it: without defaults."""
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}
    ports = [{"name": "http", "containerPort": 8080}]
    env = [{"name": "MODE", "value": "bench"}, {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    web = {"name": "web", "image": "registry.example/web:1", "ports": ports, "env": env, "resources": resources}
    side = {"name": "side", "image": "registry.example/side:1", "args": ["--listen", ":9090"]}
    metadata = {"name": name, "labels": {"app": "bench"}}
    return orjson.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [web, side]}})


async def create_pods(target: Target, namespace: str) -> tuple[int, float]:
    """Pods through all of admission, in a namespace whose service account is there."""
    body = orjson.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    await load(target, iter([target.request("POST", "/api/v1/namespaces", body)]), 1, seconds=10)
    await asyncio.sleep(1)  # the controller makes the account
    pods = f"/api/v1/namespaces/{namespace}/pods"
    return await load(target, (target.request("POST", pods, pod(f"p-{n}")) for n in range(PODS)), 16, seconds=60)


async def measure(target: Target, seconds: float) -> dict[str, float]:
    """Requests per second by kind of load."""
    namespace = f"bench-{time.time_ns():x}"
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    body = orjson.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    await load(target, iter([target.request("POST", "/api/v1/namespaces", body)]), 1, seconds=10)
    await load(
        target, (target.request("POST", maps, config_map(f"first-{number}")) for number in range(500)), 16, seconds=60
    )
    before = resident(target.pid) if target.pid is not None else 0.0
    fill = (target.request("POST", maps, config_map(f"listed-{number}")) for number in range(LISTED))
    found = {"CREATE, 16 connections": rate(await load(target, fill, 16, seconds=600))}
    if target.pid is not None:
        found[MEMORY] = (resident(target.pid) - before) / LISTED
    found["CREATE of pods, 16 connections"] = rate(await create_pods(target, f"{namespace}-pods"))
    get = itertools.repeat(target.request("GET", f"{maps}/listed-7"))
    found["GET, 32 connections"] = rate(await load(target, get, 32, seconds=seconds))
    for name, version in (("cached", "0"), ("consistent", "")):
        lists = itertools.repeat(target.request("GET", f"{maps}?resourceVersion={version}"))
        found[f"LIST of {LISTED}, {name}"] = rate(await load(target, lists, 2, seconds=seconds))
    watched = f"/api/v1/namespaces/{namespace}-watched/configmaps"
    body = orjson.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{namespace}-watched"}})
    await load(target, iter([target.request("POST", "/api/v1/namespaces", body)]), 1, seconds=10)
    found[f"1 write to {WATCHERS} watchers, ms"] = await spread(target, watched, WATCHERS, 5)
    await load(target, iter([target.request("DELETE", f"/api/v1/namespaces/{namespace}-watched")]), 1, seconds=10)
    for made in (f"{namespace}-pods", namespace):
        await load(target, iter([target.request("DELETE", f"/api/v1/namespaces/{made}")]), 1, seconds=10)
    return found


def resident(pid: int) -> float:
    """Kilobytes of memory that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text()
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


def rate(result: tuple[int, float]) -> float:
    """Answers per second."""
    count, seconds = result
    return count / seconds


GOALS = {
    MEMORY: 6.0,
    "CREATE, 16 connections": 2_700.0,
    "CREATE of pods, 16 connections": 1_000.0,
    "GET, 32 connections": 8_000.0,
    f"LIST of {LISTED}, cached": 24.0,
    f"LIST of {LISTED}, consistent": 24.0,
    f"1 write to {WATCHERS} watchers, ms": 100.0,
}


@contextlib.contextmanager
def served(turns: Path | None = None) -> Iterator[Target]:
    """A server in a process of its own, which writes the turns of its loop to a file if one is given."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder) / "tokens.csv"
        tokens.write_text(f'{TOKEN},bench,1,"system:masters"\n')
        main = "import sys; from simkit.cli import main; sys.exit(main())"
        flags = ["--secure-port", str(port), "--token-auth-file", str(tokens), "--cert-dir", folder]
        started = time.perf_counter()
        run = ["-m", "tests.bench.watched_server", str(turns)] if turns else ["-c", main]
        with subprocess.Popen([sys.executable, *run, "serve", *flags], stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                if not process.stdout.readline():
                    raise SystemExit("the server did not start")
                print(f"start to ready line, new certificates included: {time.perf_counter() - started:.2f} s")
                yield Target("127.0.0.1", port, TOKEN, process.pid)
            finally:
                process.terminate()


def run(target: Target, seconds: float) -> dict[str, float]:
    """The measurement in an event loop of its own."""
    loop = new_loop()
    try:
        return loop.run_until_complete(measure(target, seconds))
    finally:
        loop.close()


def better(name: str, ours: float, other: float) -> float:
    """The factor by which a value is better than another one: times and memory are better if they are less."""
    return other / ours if name.endswith("ms") or name.startswith("KB") else ours / other


def main() -> None:
    """Print a table: what, per second, the ratio to the goal, and to the peer where there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="for each kind of load (default 5)")
    parser.add_argument("--peer", metavar="URL", help="another server to put beside this one")
    parser.add_argument("--peer-token", default=TOKEN, metavar="TOKEN")
    args = parser.parse_args()
    with served() as target:
        ours = run(target, args.seconds)
    peers: dict[str, float] = {}
    if args.peer:
        url = urlsplit(args.peer)
        peers = run(Target(url.hostname or "127.0.0.1", url.port or 443, args.peer_token), args.seconds)
    print(f"{'over TLS, each second unless said':34}{'':>12}{'to the goal':>13}{'to the peer':>13}")
    for name, value in ours.items():
        peer = f"{better(name, value, peers[name]):12.2f}x" if name in peers else ""
        print(f"{name:34}{value:12,.1f}{better(name, value, GOALS[name]):12.2f}x{peer}")


if __name__ == "__main__":
    main()
