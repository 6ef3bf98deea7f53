"""Rates of stores and watches, with config maps of 1 KB: ``python tests/bench/bench_store.py [objects]``."""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from simkit.engine.storage.memory import MemoryStore
from simkit.engine.watch.watch_cache import WatchCache
from simkit.meta.clock import SystemClock
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object
from simkit.seams import Store

MAPS = GroupResource("", "configmaps")
OPERATIONS = 20_000


def key(number: int) -> Key:
    """One of the keys, spread over a hundred namespaces."""
    return Key(MAPS, f"team-{number % 100}", f"settings-{number}")


def config_map(number: int) -> Object:
    """A config map that takes about 1 KB as JSON, decoded as it would be from the wire."""
    where = key(number)
    decoded: Object = orjson.loads(
        orjson.dumps(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": where.name,
                    "namespace": where.namespace,
                    "resourceVersion": f"{1000 + number}",
                    "uid": f"0b4e7a3c-2f0d-4f5a-9d5c-{number:012x}",
                    "creationTimestamp": "2024-04-17T00:00:00Z",
                    "labels": {"app": "settings", "tier": f"t{number % 7}"},
                },
                "data": {f"key-{line}": f"{number:08}-{line}" * 10 for line in range(6)},
            }
        )
    )
    return decoded


def seeded(count: int) -> MemoryStore:
    """A store with so many config maps."""
    store = MemoryStore(SystemClock())
    store.seed((key(number), config_map(number)) for number in range(count))
    return store


def resident() -> int:
    """Bytes of memory that the process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def rate(label: str, operations: int, run: Callable[[], object]) -> None:
    """Print how many operations a run does in a second."""
    start = time.perf_counter()
    run()
    print(f"{label:45} {operations / (time.perf_counter() - start):12,.0f} /s")


def shortest(label: str, run: Callable[[], object], repeat: int = 7) -> None:
    """Print the shortest of several runs."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    print(f"{label:45} {min(times) * 1e6:12,.0f} µs")


def numbers(count: int) -> Iterator[int]:
    """Numbers of objects in an order that no cache likes."""
    name_source = random.Random(1)
    return (name_source.randrange(count) for _ in range(OPERATIONS))


def measure_store(label: str, store: Store, count: int) -> None:
    """Print the speed of a store that holds so many objects."""
    print(f"\n{label}, {count:,} objects")
    picked = [key(number) for number in numbers(count)]
    values = [config_map(number) for number in range(OPERATIONS)]
    rate("get", OPERATIONS, lambda: [store.get(where) for where in picked])
    rate("update", OPERATIONS, lambda: [store.put(at, value, expect=None) for at, value in zip(picked, values)])
    rate(
        "create", OPERATIONS, lambda: [store.put(key(count + n), value, expect=None) for n, value in enumerate(values)]
    )
    rate("delete", OPERATIONS, lambda: [store.delete(key(count + n), expect=None) for n in range(OPERATIONS)])
    shortest("scan of 10,000", lambda: store.scan(MAPS, limit=10_000))
    shortest("scan of a namespace", lambda: store.scan(MAPS, "team-50"))
    shortest("page of 500 in the middle", lambda: store.scan(MAPS, after=key(count // 2), limit=500))
    past = Revision(store.revision - 1300)
    shortest("page of 500 in the past, found before", lambda: store.scan(MAPS, at=past, limit=500))
    start = time.perf_counter()
    store.get(key(1), at=Revision(past - 300))
    print(f"{'first read of another past':45} {(time.perf_counter() - start) * 1e6:12,.0f} µs")


def measure_forks(store: Store, fork: Callable[[], Store], label: str) -> None:
    """Print what a fork and the first write on it cost."""
    shortest(f"fork, {label}", fork)
    value = config_map(1)

    def first_write() -> float:
        trial = fork()
        start = time.perf_counter()
        trial.put(key(1), value, expect=None)
        return time.perf_counter() - start

    print(f"{f'first write on a fork, {label}':45} {min(first_write() for _ in range(7)) * 1e6:12,.0f} µs")


def measure_memory(count: int) -> MemoryStore:
    """Print what a stored object takes, with its encoded form."""
    gc.collect()
    before = resident()
    start = time.perf_counter()
    store = seeded(count)
    print(f"{'seed':45} {time.perf_counter() - start:12.2f} s for {count:,}")
    for entry in store.scan(MAPS):
        entry.encodings["v1"] = orjson.dumps(entry.object)[1:]
    size = sum(len(entry.encodings["v1"]) for entry in store.scan(MAPS)) / count
    print(f"{f'bytes for an object of {size:.0f}, encoding included':45} {(resident() - before) / count:12,.0f}")
    return store


def measure_watchers(watchers: int) -> None:
    """Print what a write costs that reaches so many watchers of one loop, and that many watchers elsewhere."""
    store = MemoryStore(SystemClock())
    hub = WatchCache(store)
    woken: list[None] = []

    def wake() -> None:
        woken.append(None)

    cursors = [hub.watch(MAPS, after=store.revision) for _ in range(watchers)]
    for number in range(10 * watchers):
        hub.watch(GroupResource("example", f"r{number}"), after=store.revision).on_change(wake)
    for cursor in cursors:
        cursor.on_change(wake)
    value = config_map(1)

    def write_and_read() -> int:
        store.put(key(1), value, expect=None)
        return sum(len(cursor.poll()) for cursor in cursors)

    print(f"\nwatches, {10 * watchers:,} more on other resources")
    shortest(f"one write, read by {watchers:,} cursors", write_and_read)
    rate(
        "writes with nobody reading",
        OPERATIONS,
        lambda: [store.put(key(1), value, expect=None) for _ in range(OPERATIONS)],
    )


def main(count: int) -> None:
    """Print everything."""
    store = measure_memory(count)
    measure_forks(store, store.fork, "memory")
    measure_store("memory", store.fork(), count)
    measure_watchers(1000)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
