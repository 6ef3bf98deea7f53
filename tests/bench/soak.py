"""Memory of a server under churn, over time: ``python -m tests.bench.soak [--minutes 60] [--writes 200]``.

One process serves a cluster, with its controllers, and forks it once a second; another writes, lists and watches. The
table tells once a minute how much memory the server holds, and what the last minute's writes came to. In the end the
memory is compared with that of the tenth minute. ``--trace`` tells which lines hold more than then.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.bench.bench_http import Target, Watcher, config_map, load, resident, unverified
from tests.bench.served_cluster import TOKEN, serve_until_closed

MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
KEPT = 400
"""Config maps that are there at once."""
WATCHERS = 40
SETTLED = 10
"""The minute whose memory the end is compared with: the history of five minutes is full by then."""
ALLOWED = 1.10
PATIENCE = 600.0
"""Seconds for a handshake: on a busy machine it may wait for long."""


def main() -> int:
    """Run the load; gives back 1 where memory has grown by more than a tenth since the tenth minute."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--writes", type=float, default=200, help="a second (default 200)")
    parser.add_argument("--storage", default="memory", help="memory (default) or sqlite:PATH")
    parser.add_argument("--trace", action="store_true", help="tell which lines hold more memory; slow")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(args.storage, trace=args.trace)
    command = [sys.executable, "-m", "tests.bench.soak", "--serve", "--storage", args.storage]
    with subprocess.Popen(
        [*command, *(["--trace"] if args.trace else [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        port = int(process.stdout.readline())
        figures = asyncio.run(soak(Target("127.0.0.1", port, TOKEN, process.pid), args.minutes, args.writes))
        process.stdin.close()
        sys.stdout.write(process.stdout.read().decode())
    return judge(figures)


def judge(figures: list[float]) -> int:
    """Tell how the memory of the last minute compares with the settled one."""
    if len(figures) <= SETTLED:
        print(f"no judgement before minute {SETTLED}")
        return 0
    ratio = figures[-1] / figures[SETTLED]
    print(f"minute {SETTLED}: {figures[SETTLED]:.0f} MB; the end: {figures[-1]:.0f} MB, {ratio:.3f} times as much")
    return int(ratio > ALLOWED)


def serve(storage: str, *, trace: bool) -> int:
    """The server's side: serves until its input is closed, and forks meanwhile."""
    if trace:
        tracemalloc.start(1)
    with tempfile.TemporaryDirectory() as folder:
        serve_until_closed(Path(folder), storage, beside=(fork_now_and_then, *((tell_growth,) if trace else ())))
    return 0


def fork_now_and_then(cluster: object, over: threading.Event) -> None:
    """Try something on a fork each second, as an analysis in the same process does."""
    from simkit.cluster.cluster import Cluster

    assert isinstance(cluster, Cluster)
    for number in itertools.count():
        if over.wait(1.0):
            return
        with cluster.what_if() as trial:
            trial.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"fork-{number}"}})
            trial.can("user:ann", "get", "secrets", namespace="default")


def tell_growth(cluster: object, over: threading.Event) -> None:
    """Tell which lines hold more memory in the end than after the history was full."""
    if over.wait(SETTLED * 60):
        return
    before = tracemalloc.take_snapshot()
    over.wait()
    for found in tracemalloc.take_snapshot().compare_to(before, "lineno")[:25]:
        print(found, flush=True)


async def soak(target: Target, minutes: float, writes: float) -> list[float]:
    """The megabytes that the server held at the end of each minute, the first of them before any load."""
    counts: Counter[str] = Counter()
    figures = [resident(target.pid or 0) / 1024]
    print(f"{'minute':>6}{'MB':>8}{'writes/s':>10}{'lists':>7}{'watches':>9}\n{0:6}{figures[0]:8.1f}", flush=True)
    jobs = [
        asyncio.create_task(job)
        for job in (
            *(writing(target, counts, writes / 4, number) for number in range(4)),
            deploying(target, counts),
            listing(target, counts),
            *(watching(target, counts) for _ in range(WATCHERS)),
        )
    ]
    start, before = time.monotonic(), 0
    while time.monotonic() < start + minutes * 60:
        await asyncio.wait(jobs, timeout=60, return_when=asyncio.FIRST_EXCEPTION)
        for job in jobs:
            if job.done():
                job.result()
        figures.append(resident(target.pid or 0) / 1024)
        done, before = counts["writes"] - before, counts["writes"]
        print(
            f"{len(figures) - 1:6}{figures[-1]:8.1f}{done / 60:10.0f}{counts['lists']:7}{counts['watches']:9}",
            flush=True,
        )
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
    return figures


async def writing(target: Target, counts: Counter[str], rate: float, number: int) -> None:
    """Config maps made, changed and deleted at a steady rate over one connection, which is made anew at times."""
    wanted = _writes(target, number)
    while True:
        burst = max(1, round(rate * 5))
        began = time.monotonic()
        sent, _ = await load(target, itertools.islice(wanted, burst), 1, seconds=30)
        counts["writes"] += sent
        await asyncio.sleep(max(0.0, began + 5 - time.monotonic()))


def _writes(target: Target, number: int) -> Iterator[bytes]:
    """Endless requests: each object is created, changed once, and deleted when it is no longer among the last."""
    for turn in itertools.count():
        name = f"churn-{number}-{turn}"
        yield target.request("POST", MAPS, config_map(name))
        yield target.request("PUT", f"{MAPS}/{name}", changed(name))
        if turn >= KEPT // 4:
            yield target.request("DELETE", f"{MAPS}/churn-{number}-{turn - KEPT // 4}")


def changed(name: str) -> bytes:
    """The config map with another value, so that writing it is a change."""
    return config_map(name).replace(b'"key-0":"0', b'"key-0":"1', 1)


async def deploying(target: Target, counts: Counter[str]) -> None:
    """Deployments that controllers have work with: made, changed, and deleted after ten more."""
    for turn in itertools.count():
        requests = [target.request("POST", DEPLOYMENTS, json.dumps(deployment(f"d-{turn}")).encode())]
        if turn >= 10:
            requests.append(target.request("DELETE", f"{DEPLOYMENTS}/d-{turn - 10}"))
        sent, _ = await load(target, iter(requests), 1, seconds=30)
        counts["writes"] += sent
        await asyncio.sleep(2)


def deployment(name: str) -> dict[str, object]:
    """A deployment of three pods."""
    labels = {"app": name}
    spec = {"containers": [{"name": "web", "image": "registry.example/web:1"}]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template},
    }


async def listing(target: Target, counts: Counter[str]) -> None:
    """A list each second, now and then in pages of the past."""
    while True:
        sent, _ = await load(target, iter([target.request("GET", f"{MAPS}?limit=100")]), 1, seconds=30)
        counts["lists"] += sent
        await asyncio.sleep(1)


async def watching(target: Target, counts: Counter[str]) -> None:
    """A watch that ends after some seconds, and the next one."""
    loop, context, arrivals = asyncio.get_running_loop(), unverified(), asyncio.Queue[float]()
    request = target.request("GET", f"{MAPS}?watch=1&resourceVersion=0")
    while True:
        transport, _ = await loop.create_connection(
            lambda: Watcher(request, arrivals),
            target.host,
            target.port,
            ssl=context,
            ssl_handshake_timeout=PATIENCE,
        )
        counts["watches"] += 1
        await asyncio.sleep(random.uniform(5, 60))
        transport.abort()


if __name__ == "__main__":
    sys.exit(main())
