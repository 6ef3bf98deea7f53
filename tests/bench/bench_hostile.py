"""Delay of health checks while twenty clients do their worst: ``python -m tests.bench.bench_hostile [--seconds 30]``.

The server runs in a process of its own (``simkit serve``), the hostile clients in another, whoever asks for health in
this one. Each client sends all attacks of ``tests.security.attacks`` in an order of its own, one after the other; some
only open connections, with certificates that nobody knows, begin watches, or send many requests at once. Printed are
percentiles of the time that ``/healthz``, ``/livez`` and ``/readyz`` take over kept connections, those of new
connections, what the attacks were answered, and what a bare server beside them, which nobody attacks, takes for an
answer and for a connection over TLS meanwhile: on a busy machine that is not nothing. Clients read the authorities of
the machine once, not for each connection, which takes 20 ms by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import orjson

from simkit.engine.http.certificates import ensure_certificates
from simkit.engine.http.serving import new_loop
from simkit.engine.http.tls import server_context
from tests.bench.bench_http import TOKEN, Target, config_map, load, served, unverified
from tests.bench.watched_server import waits
from tests.security.attacks import MAPS, TABLE, attacks, preparation, requests_of

T = TypeVar("T")
CLIENTS = 20
GOAL, BOUND = 50.0, 100.0
"""Milliseconds for the 99th percentile: what we want, and what must not be passed, beyond what the machine takes."""
LISTED = 3000
PATHS = ("/healthz", "/livez", "/readyz")
EVERY = 0.02


def main() -> int:
    """Print the percentiles; gives back 1 where the 99th is above the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--attack", metavar="PORT", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", metavar="TEXT", default="", help="attacks whose names have this in them")
    parser.add_argument("--turns", action="store_true", help="also measure the turns of the loop, in processor time")
    args = parser.parse_args()
    if args.attack:
        return _in_loop(attack(Target("127.0.0.1", args.attack, TOKEN), args.seconds, args.only))
    if args.bare:
        return _in_loop(serve_bare())
    turns = Path(tempfile.mkdtemp()) / "turns" if args.turns else None
    with served(turns) as target, _bare() as ports:
        _in_loop(prepare(target))
        calm = _in_loop(probe(target, ports, 3))
        command = [sys.executable, "-m", "tests.bench.bench_hostile", "--attack", str(target.port)]
        options = ["--seconds", str(args.seconds + 2), "--only", args.only]
        with subprocess.Popen([*command, *options], stdout=subprocess.PIPE) as hostile:
            time.sleep(1)
            harried = _in_loop(probe(target, ports, args.seconds))
            assert hostile.stdout is not None
            print(hostile.stdout.read().decode(), end="")
    if turns is not None:
        shown = waits(turns)
        told = ", ".join(f"{part}th {shown[part - 1]:.1f}" for part in (50, 90, 99))
        print(f"milliseconds of processor time until the loop turns, preparation included: {told}")
    print(f"{'milliseconds until health is told':36}{'median':>8}{'90th':>8}{'99th':>8}{'most':>8}{'answers':>9}")
    tell("without anybody else", calm[0])
    tell(f"while {CLIENTS} clients attack", harried[0])
    tell("the same over new connections", harried[1])
    tell("a bare server beside it", harried[2])
    tell("the same over new connections", harried[3])
    found, bare = percentile(harried[0], 99), percentile(harried[2], 99)
    print(f"99th percentile: {found:.1f} ms, the bare server's {bare:.1f} ms; goal {GOAL:.0f} ms, bound {BOUND:.0f} ms")
    fresh, anew = percentile(harried[1], 99), percentile(harried[3], 99)
    print(f"over new connections: {fresh:.1f} ms, the bare server's {anew:.1f} ms; bound {BOUND:.0f} ms")
    return int(found > BOUND + bare or fresh > BOUND + anew)


@lru_cache(maxsize=1)
def trusting() -> ssl.SSLContext:
    """The TLS context of all connections without a certificate, made once."""
    return unverified()


def _in_loop(job: Coroutine[Any, Any, T]) -> T:
    loop = new_loop()
    try:
        return loop.run_until_complete(job)
    finally:
        loop.close()


def percentile(values: list[float], part: int) -> float:
    """The value below which so many of a hundred are."""
    return statistics.quantiles(values, n=100)[part - 1]


def tell(what: str, values: list[float]) -> None:
    """Print one row."""
    shown = [statistics.median(values), percentile(values, 90), percentile(values, 99), max(values)]
    print(f"{what:36}" + "".join(f"{value:8.1f}" for value in shown) + f"{len(values):9}")


async def prepare(target: Target) -> None:
    """Make what the attacks are about."""
    wanted = [target.request("POST", path, orjson.dumps(obj)) for path, obj in preparation()]
    wanted += [target.request("POST", MAPS, config_map(f"listed-{number}")) for number in range(LISTED)]
    for request in wanted[:3]:
        await load(target, iter([request]), 1, seconds=60)
    await load(target, iter(wanted[3:]), 4, seconds=120)


async def probe(target: Target, bare: tuple[int, int], seconds: float) -> list[list[float]]:
    """Milliseconds of health requests over kept and over new connections, and of answers of a bare server likewise."""
    end = time.monotonic() + seconds
    found: list[list[float]] = [[], [], [], []]
    jobs = (_ask_on(target, path, found[0], end) for path in PATHS)
    others = (_ask_bare(bare[0], found[2], end), _ask_bare_anew(bare[1], found[3], end))
    await asyncio.gather(*jobs, _ask_anew(target, found[1], end), *others)
    return found


@contextlib.contextmanager
def _bare() -> Iterator[tuple[int, int]]:
    command = [sys.executable, "-m", "tests.bench.bench_hostile", "--bare"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            plain, secure = process.stdout.readline().split()
            yield int(plain), int(secure)
        finally:
            process.terminate()


async def serve_bare() -> int:
    """Answer each line with a line, without HTTP, and without and with TLS, until the process is ended."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)

    with tempfile.TemporaryDirectory() as folder:
        files = ensure_certificates(Path(folder))
        context = server_context(files.certificate, files.key, [files.authority.read_bytes()])
    servers = [await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls) for tls in (None, context)]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))
    return 0


async def _ask_bare(port: int, found: list[float], end: float) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < end:
        start = time.perf_counter()
        writer.write(b"ok\n")
        await reader.readline()
        found.append(1000 * (time.perf_counter() - start))
        await asyncio.sleep(EVERY)
    writer.close()


async def _ask_bare_anew(port: int, found: list[float], end: float) -> None:
    while time.monotonic() < end:
        start = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting())
        writer.write(b"ok\n")
        await reader.readline()
        found.append(1000 * (time.perf_counter() - start))
        writer.close()
        await asyncio.sleep(5 * EVERY)


async def _ask_on(target: Target, path: str, found: list[float], end: float) -> None:
    reader, writer = await asyncio.open_connection(target.host, target.port, ssl=trusting())
    while time.monotonic() < end:
        start = time.perf_counter()
        await _health(target, path, reader, writer)
        found.append(1000 * (time.perf_counter() - start))
        await asyncio.sleep(EVERY)
    writer.close()


async def _ask_anew(target: Target, found: list[float], end: float) -> None:
    while time.monotonic() < end:
        start = time.perf_counter()
        reader, writer = await asyncio.open_connection(target.host, target.port, ssl=trusting())
        await _health(target, "/livez", reader, writer)
        found.append(1000 * (time.perf_counter() - start))
        writer.close()
        await asyncio.sleep(5 * EVERY)


async def _health(target: Target, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(target.request("GET", path))
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))


async def attack(target: Target, seconds: float, only: str) -> int:
    """Twenty clients at once; prints what they were answered."""
    answers: Counter[str] = Counter()
    known = {name: each for name, each in attacks().items() if only in name}
    requests = {name: requests_of(each, target.host, TOKEN) for name, each in known.items()}
    special = [] if only else [_handshakes, _watches, _at_once]
    jobs = [each(target, answers) for each in special]
    jobs += [_in_turn(target, requests, answers, number) for number in range(CLIENTS - len(jobs))]
    done, left = await asyncio.wait([asyncio.ensure_future(job) for job in jobs], timeout=seconds)
    for job in left:
        job.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    for job in done:
        job.result()
    print("answers to the attacks:", ", ".join(f"{code} {count}x" for code, count in sorted(answers.items())))
    return 0


async def _in_turn(target: Target, requests: dict[str, bytes], answers: Counter[str], seed: int) -> None:
    chance, names = random.Random(seed), list(requests)
    while True:
        chance.shuffle(names)
        for name in names:
            try:
                answers[await _sent(target, requests[name])] += 1
            except (OSError, asyncio.IncompleteReadError):
                answers["cut"] += 1


async def _sent(target: Target, request: bytes) -> str:
    reader, writer = await asyncio.open_connection(target.host, target.port, ssl=trusting())
    try:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if length:
            await reader.readexactly(int(length))
        return head.split(b" ", 2)[1].decode()
    finally:
        writer.close()


async def _handshakes(target: Target, answers: Counter[str]) -> None:
    """Chains of certificates with one name and one key, each in a handshake of its own."""
    with tempfile.TemporaryDirectory() as folder:
        context = _chained(Path(folder), 8)
        while True:
            try:
                reader, writer = await asyncio.open_connection(target.host, target.port, ssl=context)
                writer.write(target.request("GET", MAPS))
                await reader.read(100)
                writer.close()
                answers["handshake"] += 1
            except OSError:
                answers["cut"] += 1


def _chained(folder: Path, length: int) -> ssl.SSLContext:
    from tests.security.certificate_chains import same_name_chain

    chain, key = same_name_chain(length)
    (folder / "chain.pem").write_bytes(chain)
    (folder / "key.pem").write_bytes(key)
    context = unverified()
    context.load_cert_chain(folder / "chain.pem", folder / "key.pem")
    return context


async def _watches(target: Target, answers: Counter[str]) -> None:
    """Watches that begin with all objects, as Tables and by selectors, and are never read."""
    while True:
        opened = []
        for number in range(50):
            selector = f"&labelSelector=a%20notin%20({number})" if number % 2 else ""
            path = f"{MAPS}?watch=1&resourceVersion=0{selector}"
            lines = f"GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\naccept: {TABLE}\r\n\r\n"
            reader, writer = await asyncio.open_connection(target.host, target.port, ssl=trusting())
            writer.write(lines.encode())
            await reader.read(1)
            opened.append(writer)
            answers["watch"] += 1
        for writer in opened:
            writer.close()


async def _at_once(target: Target, answers: Counter[str]) -> None:
    """Ten thousand small requests in one piece."""
    request = target.request("GET", f"{MAPS}/listed-7")
    while True:
        reader, writer = await asyncio.open_connection(target.host, target.port, ssl=trusting())
        writer.write(request * 10_000)
        for _ in range(200):
            if not await reader.read(65536):
                break
        writer.close()
        answers["pipelined"] += 1


if __name__ == "__main__":
    sys.exit(main())
