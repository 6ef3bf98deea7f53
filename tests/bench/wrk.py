"""Load from wrk, which takes little of the machine itself, and the processor time of the server meanwhile."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.bench_http import Target

_SCRIPTS: Final = Path(__file__).with_name("loads")
_DONE: Final = re.compile(r"(\d+) requests in")
_RATE: Final = re.compile(r"Requests/sec:\s+([\d.]+)")
_FAILED: Final = re.compile(r"Non-2xx or 3xx responses: \d+|Socket errors: .*")


@dataclass(frozen=True)
class Load:
    """Requests of one kind over some connections."""

    path: str
    connections: int
    script: str = ""
    """The file of ``loads`` that makes the requests; empty: GET of the path."""
    kind: str = ""
    """What that file is told to make, where it makes several kinds."""


@dataclass(frozen=True)
class Answered:
    """The answers to a load: how many each second, and the microseconds of processor time that the server took for
    each."""

    rate: float
    price: float


def check_installed() -> None:
    """Raise SystemExit with what to do unless wrk is there."""
    if shutil.which("wrk") is None:
        raise SystemExit("this benchmark needs the load generator wrk; install it, for example: apt-get install wrk")


def put_load(target: Target, pids: Iterable[int], load: Load, seconds: float) -> Answered:
    """Put a load on a server from one thread of wrk. Raises SystemExit for refusals."""
    processes = tuple(pids)
    script = ["--script", str(_SCRIPTS / f"{load.script}.lua")] if load.script else []
    command = ["wrk", "--threads", "1", "--connections", str(load.connections), "--duration", f"{seconds:g}s"]
    headers = ["--timeout", "60s", "--header", f"Authorization: Bearer {target.token}", *script]
    url = f"https://{target.host}:{target.port}{load.path}"
    before = sum(map(processor_seconds, processes))
    done = subprocess.run(
        [*command, *headers, url, f"{time.time_ns():x}", load.kind], capture_output=True, text=True, check=True
    )
    taken = sum(map(processor_seconds, processes)) - before
    count, rate, failed = _DONE.search(done.stdout), _RATE.search(done.stdout), _FAILED.search(done.stdout)
    if failed or not count or not rate:
        raise SystemExit(f"{url}: {failed.group() if failed else done.stdout + done.stderr}")
    return Answered(float(rate.group(1)), 1e6 * taken / int(count.group(1)))


def processor_seconds(pid: int) -> float:
    """Seconds of processor time of a process, of its ended threads too."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def listening_pid(port: int) -> int | None:
    """The process of this machine that listens on a port; None if there is none, or it belongs to somebody else."""
    wanted = f":{port:04X}"
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    sockets = {f"socket:[{line[9]}]" for line in lines if line[1].endswith(wanted) and line[3] == "0A"}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(file.readlink()) in sockets for file in (process / "fd").iterdir()):
                return int(process.name)
        except OSError:  # it ended meanwhile, or belongs to another user
            continue
    return None
