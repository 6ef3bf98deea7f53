"""An hour of churn by the cluster's own clock: ``python -m tests.bench.soak_simulated [--minutes 60] [--writes 200]``.

``tests.bench.soak`` needs a machine that makes so many writes a second for an hour. Here the clock is turned by a second
after so many requests through the handler chain, however long they take: history, Events, controllers and caches grow
and expire as in an hour. Watches are read, forks made, deployments rolled out and removed by controllers. HTTP and TLS
are left out. The table tells the memory of the process, and what of it Python's objects come to.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections import deque
from pathlib import Path

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.watch.watcher import Watcher
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from simkit.meta.python_gc import collect_seldom
from tests.bench.bench_http import config_map
from tests.bench.soak import DEPLOYMENTS, KEPT, MAPS, WATCHERS, changed, deployment, judge

CONFIG_MAPS = GroupResource("", "configmaps")


class Churn:
    """A cluster with its load.

    Parameters
    ----------
    writes
        Requests that change something, a second.
    """

    def __init__(self, writes: int) -> None:
        self._clock = SimulatedClock()
        self.cluster = Cluster(options=Options(clock=self._clock))
        self._writes, self._turn, self._deployed = writes, 0, 0
        self._watchers: deque[Watcher] = deque()

    def now(self) -> float:
        """The cluster's clock, in seconds: a server has as much time between two rounds."""
        return self._clock.now()

    def second(self, number: int) -> None:
        """One second of the cluster's clock."""
        done = 0
        while done < self._writes:
            done += self._maps()
        if number % 2 == 0:
            self._deploy()
        self.cluster.settle()
        self._watch()
        self._send("GET", f"{MAPS}?limit=100")
        with self.cluster.what_if() as trial:
            trial.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"fork-{number}"}})
            trial.can("user:ann", "get", "secrets", namespace="default")
        self._clock.advance(1)

    def _maps(self) -> int:
        name, self._turn = f"churn-{self._turn}", self._turn + 1
        self._send("POST", MAPS, config_map(name))
        self._send("PUT", f"{MAPS}/{name}", changed(name))
        if self._turn <= KEPT:
            return 2
        self._send("DELETE", f"{MAPS}/churn-{self._turn - 1 - KEPT}")
        return 3

    def _deploy(self) -> None:
        self._send("POST", DEPLOYMENTS, json.dumps(deployment(f"d-{self._deployed}")).encode())
        if self._deployed >= 10:
            self._send("DELETE", f"{DEPLOYMENTS}/d-{self._deployed - 10}")
        self._deployed += 1

    def _watch(self) -> None:
        """Two watches begin, two end, and all read what there is."""
        engine = self.cluster.engine
        for _ in range(2):
            self._watchers.append(engine.watch_cache.watch(CONFIG_MAPS, "default", after=engine.store.revision))
        while len(self._watchers) > WATCHERS:
            self._watchers.popleft().close()
        for watcher in self._watchers:
            watcher.poll()

    def _send(self, method: str, path: str, body: bytes | None = None) -> None:
        response = self.cluster.perform(Request.of(method, path, body))
        assert response.succeeded, response.body


def main() -> int:
    """Run the hour; gives back 1 where memory has grown by more than a tenth since the tenth minute."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--writes", type=int, default=200, help="a second of the cluster's clock (default 200)")
    args = parser.parse_args()
    churn = Churn(args.writes)
    collect_seldom()
    figures = [held()]
    print(f"{'minute':>6}{'MB':>8}{'objects':>10}\n{0:6}{figures[0]:8.1f}", flush=True)
    for minute in range(1, args.minutes + 1):
        for second in range(60):
            churn.second((minute - 1) * 60 + second)
        figures.append(held())
        print(f"{minute:6}{figures[-1]:8.1f}{len(gc.get_objects()) + gc.get_freeze_count():10}", flush=True)
    return judge(figures)


def held() -> float:
    """Megabytes of memory that this process holds."""
    status = Path("/proc/self/status").read_text()
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024


if __name__ == "__main__":
    sys.exit(main())
