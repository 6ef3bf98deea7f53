"""Ten thousand watchers on one process: ``python -m tests.bench.bench_watchers [--watchers 10000] [--peer URL]``.

Each watcher is a connection of its own, over TLS. Printed are the time until one write has reached all of them, and
what a watcher costs in memory (of the own server only). Both processes need as many open files as there are watchers.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
from urllib.parse import urlsplit

import orjson

from simkit.engine.http.serving import new_loop
from tests.bench.bench_http import TOKEN, Target, Watcher, better, config_map, load, resident, served, unverified

AT_ONCE = 200
ROUNDS = 3
GOALS = {"1 write to all, ms": 1_000.0, "KB of memory each": 64.0}


async def measure(target: Target, watchers: int, pid: int | None) -> dict[str, float]:
    """Milliseconds from a write until all have it, the middle of some rounds; kilobytes for each watcher."""
    namespace = f"bench-{time.time_ns():x}"
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    body = orjson.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    await load(target, iter([target.request("POST", "/api/v1/namespaces", body)]), 1, seconds=10)
    before = resident(pid) if pid is not None else 0
    loop, arrivals, context = asyncio.get_running_loop(), asyncio.Queue[float](), unverified()
    request = target.request("GET", f"{maps}?watch=1&resourceVersion=0")
    transports: list[asyncio.BaseTransport] = []
    for _ in range(0, watchers, AT_ONCE):
        opening = [
            loop.create_connection(lambda: Watcher(request, arrivals), target.host, target.port, ssl=context)
            for _ in range(min(AT_ONCE, watchers - len(transports)))
        ]
        transports += [transport for transport, _ in await asyncio.gather(*opening)]
    took = []
    for number in range(ROUNDS + 1):  # the first also waits until all watches are open
        start = time.perf_counter()
        write = target.request("POST", maps, config_map(f"mark-{number}"))
        await load(target, iter([write]), 1, seconds=30)
        took.append(1000 * (max([await arrivals.get() for _ in range(watchers)]) - start))
    found = {"1 write to all, ms": sorted(took[1:])[ROUNDS // 2]}
    if pid is not None:
        found["KB of memory each"] = (resident(pid) - before) / watchers
    for transport in transports:
        transport.close()
    await load(target, iter([target.request("DELETE", f"/api/v1/namespaces/{namespace}")]), 1, seconds=10)
    return found


def run(target: Target, watchers: int, pid: int | None = None) -> dict[str, float]:
    """The measurement in an event loop of its own."""
    loop = new_loop()
    try:
        return loop.run_until_complete(measure(target, watchers, pid))
    finally:
        loop.close()


def main() -> None:
    """Print a table: what, the ratio to the goal, and to the peer where there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--watchers", type=int, default=10_000)
    parser.add_argument("--peer", metavar="URL", help="another server to put beside this one")
    parser.add_argument("--peer-token", default=TOKEN, metavar="TOKEN")
    parser.add_argument("--seconds", type=float, help="not used here; taken so that all benchmarks take the same")
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    watchers = args.watchers if hard == resource.RLIM_INFINITY else min(args.watchers, hard - 200)
    with served() as target:
        ours = run(target, watchers, target.pid)
    peers: dict[str, float] = {}
    if args.peer:
        url = urlsplit(args.peer)
        peers = run(Target(url.hostname or "127.0.0.1", url.port or 443, args.peer_token), watchers)
    print(f"{f'{watchers} watchers over TLS':32}{'':>12}{'to the goal':>13}{'to the peer':>13}")
    for name, value in ours.items():
        peer = f"{better(name, value, peers[name]):12.2f}x" if name in peers else ""
        print(f"{name:32}{value:12,.0f}{better(name, value, GOALS[name]):12.2f}x{peer}")


if __name__ == "__main__":
    main()
