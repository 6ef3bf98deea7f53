"""Import, start, memory, load: what a user waits for before anything can be asked."""

from __future__ import annotations

import argparse
import gzip
import http.client
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson

from simkit.meta.free_port import free_port

GOALS = {"import": 0.2, "first answer": 0.3, "memory": 95.0, "load": 20.0}


def _compiled(folder: Path) -> dict[str, str]:
    """An environment in which modules stay compiled from the first start on, as in an installation."""
    rest = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**rest, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def timed(command: list[str], environment: dict[str, str]) -> float:
    """Seconds that a process takes, the best of five after the first."""
    times = []
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    for _ in range(5):
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        times.append(time.perf_counter() - begun)
    return min(times)


def import_seconds(folder: Path) -> float:
    """The seconds that ``import simkit`` adds to an empty interpreter."""
    known = _compiled(folder)
    return timed([sys.executable, "-c", "import simkit"], known) - timed([sys.executable, "-c", ""], known)


def first_answer(folder: Path) -> tuple[float, float]:
    """Seconds from the start of a server's process to its first answer, and its memory then in MB."""
    times, memory = [], 0.0
    for _ in range(6):  # the first one compiles, and makes the certificates
        port = free_port()
        command = [sys.executable, "-m", "simkit.cli", "serve", "--secure-port", "0", "--insecure-port", str(port)]
        begun = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--cert-dir", str(folder)], stdout=subprocess.DEVNULL, env=_compiled(folder)
        )
        while not _answers(port):
            time.sleep(0.002)
        times.append(time.perf_counter() - begun)
        status = Path(f"/proc/{process.pid}/status")
        if status.exists():
            line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
            memory = int(line.split()[1]) / 1024
        process.terminate()
        process.wait()
    return min(times), memory


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def load_seconds(folder: Path, count: int) -> float:
    """Seconds from a dump of config maps to a cluster that holds them."""
    import simkit

    items = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"c{number}", "namespace": "default", "uid": str(number), "resourceVersion": "1"},
            "data": {"text": "x" * 800},
        }
        for number in range(count)
    ]
    dump = folder / "dump.json.gz"
    dump.write_bytes(gzip.compress(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items}), 1))
    begun = time.perf_counter()
    cluster = simkit.load(dump)
    taken = time.perf_counter() - begun
    assert len(list(cluster.list("configmaps"))) == count
    return taken


def main() -> None:
    """Measure and print each figure with the ratio to its goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=100_000)
    count = parser.parse_args().objects
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds, memory = first_answer(folder)
        figures = {"import": import_seconds(folder), "first answer": seconds, "memory": memory}
        figures["load"] = load_seconds(folder, count)
    for what, value in figures.items():
        print(f"{what:14} {value:8.3f}   {GOALS[what] / value:6.1f} times better than the goal")


if __name__ == "__main__":
    main()
