"""Cost against size, each size in a process of its own: ``python -m tests.bench.bench_scale [WHAT ...]``.

What is measured: ``objects`` (config maps of 1 KB in one store), ``bindings`` (RoleBindings in one access index),
``escalation`` (RoleBindings through which somebody may reach cluster-admin), ``log`` (megabytes of an audit log, read for
the permissions that were used). Sizes above ``--largest`` are left out.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from simkit.analysis import can, escalations, usage, who_can
from simkit.engine.watch.watch_cache import WatchCache
from simkit.logic.rbac.index import AccessIndex
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import account, binding, namespace, role, rule
from tests.bench.bench_store import MAPS, config_map, key, resident, seeded

SIZES = {
    "objects": (1_000, 10_000, 100_000, 1_000_000),
    "bindings": (100, 1_000, 10_000, 100_000, 1_000_000),
    "escalation": (100, 1_000, 10_000, 100_000, 1_000_000),
    "log": (10, 100, 1_000),
}
Figures = dict[str, float]
ASKED = 2_000


def each(count: int, run: Callable[[int], object]) -> float:
    """Microseconds that a call takes at the median, of so many."""
    times = []
    for number in range(count):
        start = time.perf_counter()
        run(number)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def objects(size: int) -> Figures:
    """A store with so many config maps: filling it, reads, writes, pages, a fork, watches."""
    before, start = resident(), time.perf_counter()
    store = seeded(size)
    filled = time.perf_counter() - start
    gc.collect()
    memory, picked = resident() - before, random.Random(1)
    where = [key(picked.randrange(size)) for _ in range(ASKED)]
    hub, after = WatchCache(store), store.revision
    cursors = [hub.watch(MAPS, after=after) for _ in range(1_000)]
    written = each(ASKED, lambda number: store.put(where[number], config_map(number), expect=None))
    start = time.perf_counter()
    told = sum(len(cursor.poll()) for cursor in cursors)
    assert told == ASKED * len(cursors)
    return {
        "fill, s": filled,
        "memory, MB": memory / 1e6,
        "read, µs": each(ASKED, lambda number: store.get(where[number])),
        "write with 1,000 watchers, µs": written,
        "an event read by a watcher, µs": (time.perf_counter() - start) / told * 1e6,
        "page of 500, µs": each(50, lambda number: store.scan(MAPS, after=where[number], limit=500)),
        "fork, µs": each(50, lambda _: store.fork()),
    }


def bindings(size: int) -> Figures:
    """An index of so many RoleBindings: making it, decisions, who can do something, a change."""
    spaces, roles = max(size // 100, 1), max(size // 50, 1)
    world = [namespace(f"ns-{number}") for number in range(spaces)]
    world += [role(f"role-{number}", rule("get,list", "pods,secrets")) for number in range(roles)]
    made = [
        binding(
            f"b-{number}",
            f"role-{number % roles}",
            f"user:person-{number % max(size // 2, 1)}",
            f"group:team-{number % max(size // 10, 1)}",
            namespace=f"ns-{number % spaces}",
        )
        for number in range(size)
    ]
    snapshot = MemorySnapshot([*world, *made], captured=["*"])
    gc.collect()
    before, start = resident(), time.perf_counter()
    index = AccessIndex.of(snapshot)
    indexed = time.perf_counter() - start
    memory, picked = resident() - before, random.Random(1)

    def asked(_: int) -> object:
        number = picked.randrange(size)
        return can(snapshot, f"user:person-{number}", "get", "secrets", namespace=f"ns-{number % spaces}")

    asked(0)
    return {
        "index, s": indexed,
        "memory of the index, MB": memory / 1e6,
        "can, µs": each(ASKED, asked),
        "who can in one namespace, µs": each(
            20, lambda number: who_can(snapshot, "get", "secrets", namespace=f"ns-{number % spaces}")
        ),
        "fork of the index, µs": each(50, lambda _: index.fork()),
    }


def escalation(size: int) -> Figures:
    """All paths to cluster-admin: in one namespace of ten, pods run as an administrator, and some may start pods."""
    spaces = max(size // 100, 1)
    places = [f"ns-{number}" for number in range(spaces)]
    world = [namespace(name) for name in places]
    world += [account(name, "runner") for name in places]
    world += [role("reader", rule("get,list", "pods")), role("starter", rule("create", "pods"))]
    world += [role("cluster-admin", rule("*", "*", groups="*"))]
    world += [binding(f"admin-{name}", "cluster-admin", f"sa:{name}/runner") for name in places[::10]]
    world += [
        binding(
            f"b-{number}",
            "reader" if number % 20 else "starter",
            f"user:person-{number % max(size // 2, 1)}",
            namespace=places[number % spaces],
        )
        for number in range(size)
    ]
    snapshot = MemorySnapshot(world, captured=["*"])
    gc.collect()
    before, start = resident(), time.perf_counter()
    paths = escalations(snapshot, goal="cluster-admin")
    took = time.perf_counter() - start
    return {"all paths, s": took, "paths": len(paths), "memory, MB": (resident() - before) / 1e6}


def log(size: int) -> Figures:
    """So many megabytes of an audit log, read for the permissions that each subject used."""
    world = [role("r", rule("get", "pods")), binding("b", "r", *(f"user:person-{each}" for each in range(50)))]
    snapshot = MemorySnapshot(world, captured=["*"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.jsonl"
        lines = b"".join(_event(number) for number in range(1_500))
        with path.open("wb") as file:
            for _ in range(size * 1_000_000 // len(lines) + 1):
                file.write(lines)
        gc.collect()
        before, start = peak(), time.perf_counter()
        usage(snapshot, path)
        return {"read, s": time.perf_counter() - start, "memory more, MB": peak() - before}


def _event(number: int) -> bytes:
    who, where = f"person-{number % 50}", f"ns-{number % 30}"
    event = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": f"{number:032x}",
        "stage": "ResponseComplete",
        "requestURI": f"/api/v1/namespaces/{where}/pods/p-{number}",
        "verb": "get",
        "user": {"username": who, "groups": ["system:authenticated"]},
        "sourceIPs": ["192.0.2.1"],
        "userAgent": "kubectl/v1.30.0 (linux/amd64) kubernetes/0000000",
        "objectRef": {"resource": "pods", "namespace": where, "name": f"p-{number}", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 200},
        "requestReceivedTimestamp": "2026-11-21T03:41:46.595088Z",
        "stageTimestamp": "2026-11-21T03:41:46.601356Z",
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
    }
    return orjson.dumps(event) + b"\n"


def peak() -> float:
    """The most memory that the process has held, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


MEASURES: dict[str, Callable[[int], Figures]] = {
    "objects": objects,
    "bindings": bindings,
    "escalation": escalation,
    "log": log,
}


def apart(what: str, size: int) -> Figures:
    """The figures of one size, measured in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.bench_scale", what, "--one", str(size)]
    found: Figures = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def shown(what: str, found: dict[int, Figures]) -> None:
    """Print one table: a row for each figure, a column for each size."""
    print(f"\n{what:34}" + "".join(f"{size:>13,}" for size in found))
    for name in next(iter(found.values())):
        print(f"{name:34}" + "".join(f"{figures[name]:>13,.1f}" for figures in found.values()))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help=f"of {', '.join(MEASURES)}; all unless given")
    parser.add_argument("--largest", type=int, default=1_000_000, help="sizes above it are left out")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(MEASURES[args.what[0]](args.one)))
        return
    for what in args.what or list(MEASURES):
        shown(what, {size: apart(what, size) for size in SIZES[what] if size <= args.largest})


if __name__ == "__main__":
    main()
