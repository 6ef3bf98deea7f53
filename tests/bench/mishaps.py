"""Killed servers, a full disk, a file that goes and a turned clock under load: ``python -m tests.bench.mishaps``.

A server with a SQLite file is written to over several connections, and killed (``SIGKILL``) in the middle; a server
whose file may not grow any more (``RLIMIT_FSIZE``) is written to until it refuses; a server's clock is turned a day
forwards and back; and a server loses its file, after which it may acknowledge nothing more. A part of the rows is then
cut, beside which all others have to be there. After each the next server opens the file, and every object whose creation was acknowledged has to be
there. With ``--etcd URL`` the store is that etcd, which outlives the server. Gives back 1 where something was lost.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import resource
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.bench.bench_http import TOKEN, unverified

MAPS = "/api/v1/namespaces/default/configmaps"
WRITERS = 4
MAIN = "import sys; from simkit.cli import main; sys.exit(main())"
STEPPED = """
import time
sane, began = time.time, time.time()
def stepped():
    now = sane()
    return now + (86400 if int(now - began) // 2 % 2 else 0)
time.time = stepped
"""
"""Two seconds with the right time, two a day later, and so on."""


class Writers:
    """Connections that create objects, and know which were acknowledged."""

    def __init__(self, port: int, prefix: str) -> None:
        self.acknowledged: list[str] = []
        self.refused: list[tuple[int, str]] = []
        self._port, self._prefix, self._over = port, prefix, threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def _write(self, number: int) -> None:
        turn = 0
        with contextlib.suppress(OSError, http.client.HTTPException), connected(self._port) as connection:
            while not self._over.is_set():
                name, turn = f"{self._prefix}-{number}-{turn}", turn + 1
                status, text = asked(connection, "POST", MAPS, {"metadata": {"name": name}, "data": {"x": "y" * 2000}})
                if status == 201:
                    self.acknowledged.append(name)
                else:
                    self.refused.append((status, text))
                    time.sleep(0.05)

    def wait_for(self, ready: Callable[[], bool], seconds: float = 120) -> None:
        """Return when something is so, or all have ended."""
        end = time.monotonic() + seconds
        while not ready() and time.monotonic() < end and any(thread.is_alive() for thread in self._threads):
            time.sleep(0.02)

    def stop(self) -> None:
        """End the connections."""
        self._over.set()
        for thread in self._threads:
            thread.join()


@contextlib.contextmanager
def connected(port: int) -> Iterator[http.client.HTTPSConnection]:
    """A connection to a server."""
    context: ssl.SSLContext = unverified()
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=120)
    try:
        yield connection
    finally:
        connection.close()


def asked(
    connection: http.client.HTTPSConnection, method: str, path: str, body: object | None = None
) -> tuple[int, str]:
    """The status and the text of an answer."""
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    connection.request(method, path, body=json.dumps(body) if body is not None else None, headers=headers)
    response = connection.getresponse()
    return response.status, response.read().decode()


@contextlib.contextmanager
def serving(
    folder: Path, storage: str, *, main: str = MAIN, most: int = 0
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A server's port and process; ``most`` is the number of bytes that a file of it may have."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    tokens = folder / "tokens.csv"
    tokens.write_text(f'{TOKEN},bench,1,"system:masters"\n')
    flags = ["--secure-port", str(port), "--token-auth-file", str(tokens), "--cert-dir", str(folder)]
    flags += ["--etcd-servers", storage] if storage.startswith("http") else ["--storage", storage]
    limit = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))) if most else None
    command = [sys.executable, "-c", main, "serve", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=limit) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise SystemExit("the server did not start")
            yield port, process
        finally:
            process.terminate()


def names(port: int) -> set[str]:
    """The names of all config maps."""
    with connected(port) as connection:
        status, text = asked(connection, "GET", MAPS)
    assert status == 200, text
    return {item["metadata"]["name"] for item in json.loads(text)["items"]}


def lost(folder: Path, storage: str, expected: list[str]) -> int:
    """The number of acknowledged objects that a new server does not have; it has to take a write too."""
    with serving(folder, storage) as (port, _):
        missing = set(expected) - names(port)
        with connected(port) as connection:
            status, text = asked(connection, "POST", MAPS, {"metadata": {"generateName": "after-"}})
    assert status == 201, text
    return len(missing)


def killed(folder: Path, storage: str, rounds: int) -> int:
    """Kill servers in the middle of writes."""
    known, found = list[str](), 0
    for number in range(rounds):
        with serving(folder, storage) as (port, process):
            writers = Writers(port, f"kill-{number}")
            writers.wait_for(partial(_has_more, writers, 100 + 50 * number))
            process.send_signal(signal.SIGKILL)
            writers.stop()
            known += writers.acknowledged
        found += lost(folder, storage, known)
    print(f"killed {rounds} times: {len(known)} acknowledged, {found} lost", flush=True)
    return found


def _has_more(writers: Writers, count: int) -> bool:
    return len(writers.acknowledged) > count


def full(folder: Path) -> int:
    """Fill what the file may hold; reads go on, and a server with more room has everything."""
    storage = f"sqlite:{folder / 'full.db'}"
    with serving(folder, storage, most=4 * 1024 * 1024) as (port, _):
        writers = Writers(port, "full")
        writers.wait_for(lambda: len(writers.refused) > 20)
        writers.stop()
        present = names(port)
    missing = len(set(writers.acknowledged) - present) + lost(folder, storage, writers.acknowledged)
    codes = sorted({status for status, _ in writers.refused})
    print(f"full disk: {len(writers.acknowledged)} acknowledged, refused with {codes}, {missing} lost", flush=True)
    return missing + (not writers.refused)


def removed(folder: Path) -> int:
    """Take the file away under load: no write is acknowledged that nobody would find again."""
    file = folder / "removed.db"
    with serving(folder, f"sqlite:{file}") as (port, _):
        writers = Writers(port, "removed")
        writers.wait_for(partial(_has_more, writers, 100))
        file.rename(folder / "taken.db")
        time.sleep(0.2)  # those under way
        known = len(writers.acknowledged)
        writers.wait_for(lambda: len(writers.refused) > 20)
        writers.stop()
    missing = len(writers.acknowledged) - known
    print(f"file taken away: {known} acknowledged before, {missing} after, {len(writers.refused)} refused", flush=True)
    return missing + (not writers.refused)


def damaged(folder: Path) -> int:
    """Cut every tenth row: the server starts, and has all others."""
    file = folder / "damaged.db"
    with serving(folder, f"sqlite:{file}") as (port, process):
        writers = Writers(port, "damaged")
        writers.wait_for(partial(_has_more, writers, 200))
        process.send_signal(signal.SIGKILL)
        writers.stop()
    spoilt = set(writers.acknowledged[::10])
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.executemany(
            "UPDATE objects SET object = substr(object, 1, 20) WHERE name = ?", [(each,) for each in spoilt]
        )
    missing = lost(folder, f"sqlite:{file}", [each for each in writers.acknowledged if each not in spoilt])
    print(f"rows cut: {len(spoilt)} of {len(writers.acknowledged)} acknowledged, {missing} others lost", flush=True)
    return missing


def turned(folder: Path, storage: str) -> int:
    """Turn the clock a day to and fro under load: writes go on, and nothing is lost."""
    with serving(folder, storage, main=STEPPED + MAIN) as (port, _):
        writers = Writers(port, "clock")
        began = time.monotonic()
        writers.wait_for(lambda: time.monotonic() > began + 12)
        writers.stop()
    missing = lost(folder, storage, writers.acknowledged)
    told = f"{len(writers.acknowledged)} acknowledged, {len(writers.refused)} refused, {missing} lost"
    print(f"clock turned a day to and fro: {told}", flush=True)
    return missing + len(writers.refused)


def main() -> int:
    """Run all three; gives back 1 where something was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--etcd", metavar="URL", help="an etcd whose content may be changed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        storage = args.etcd or f"sqlite:{folder / 'store.db'}"
        found = killed(folder, storage, args.rounds) + turned(folder, storage)
        found += 0 if args.etcd else full(folder) + removed(folder) + damaged(folder)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
