"""A day of churn for ``simkit watch``, compressed: ``python -m tests.bench.soak_watch [--minutes 60] [--bindings 10000]``.

One process serves a cluster with many bindings and writes what a busy day brings: pods that come, run and go, nodes that
renew their status, secrets that are renewed, and bindings that grant something and go again. Another process is ``simkit
watch``. The table tells now and then how much memory the watch holds, how many grants were written and told, and how long
after the write the slowest was told. In the end the memory is compared with that after a sixth of the time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.message import Request
from simkit.meta.objects import Object
from tests.analysis.worlds import account, binding, namespace, role, rule
from tests.bench.bench_http import resident

A_DAY: Final = {"pods": 20_000, "nodes": 28_800, "secrets": 2_000, "grants": 2_000}
"""What a day brings: pods (four writes each), writes of a node's status, renewed secrets, bindings made and deleted."""
NODES = 100
ALLOWED = 1.10
MERGE = "application/merge-patch+json"


class Told:
    """What ``simkit watch`` has told of the grants that were written."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.written: dict[str, float] = {}
        self.late: list[float] = []
        self._thread = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._thread.start()

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            event = json.loads(line)
            subject = event["subject"].partition("@")[0]
            if event["kind"] == "granted" and subject in self.written:
                self.late.append(time.time() - self.written.pop(subject))

    def join(self) -> None:
        """Wait until the watch has ended."""
        self._thread.join()


def filled(bindings: int) -> Cluster:
    """A cluster with so many bindings of roles in namespaces, with administrators in one of ten."""
    cluster = Cluster(options=Options(controllers=()))
    places = [f"ns-{number}" for number in range(max(bindings // 100, 1))]
    cluster.create(role("reader", rule("get,list", "pods")))
    cluster.create(role("starter", rule("create", "pods")))
    for place in places:
        cluster.create(namespace(place))
        cluster.create(account(place, "runner"))
    for place in places[::10]:
        cluster.create(binding(f"admin-{place}", "cluster-admin", f"sa:{place}/runner"))
    for number in range(bindings):
        held, where = "reader" if number % 20 else "starter", places[number % len(places)]
        cluster.create(binding(f"b-{number}", held, f"user:person-{number % max(bindings // 2, 1)}", namespace=where))
    for number in range(NODES):
        cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}})
    return cluster


def write(cluster: Cluster, method: str, path: str, body: Object | None = None) -> None:
    """Send a request that succeeds."""
    response = cluster.perform(Request.of(method, path, body, headers={"content-type": MERGE}))
    assert response.status < 300, (path, response.body)


def churn(cluster: Cluster, told: Told) -> dict[str, Callable[[int], None]]:
    """What is written for each turn of each kind of work."""
    pods, grants = deque[str](), deque[str]()

    def pod(turn: int) -> None:
        name, where = f"pod-{turn}", f"ns-{turn % 10}"
        containers = [{"name": "c", "image": "registry.example/web:1"}]
        spec = {"serviceAccountName": "runner", "containers": containers, "nodeName": f"node-{turn % NODES}"}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": where}, "spec": spec}
        cluster.create(made)
        for phase in ("Running", "Succeeded"):
            write(cluster, "PATCH", f"/api/v1/namespaces/{where}/pods/{name}/status", {"status": {"phase": phase}})
        pods.append(name)
        if len(pods) > 100:
            gone = pods.popleft()
            write(cluster, "DELETE", f"/api/v1/namespaces/ns-{int(gone[4:]) % 10}/pods/{gone}?gracePeriodSeconds=0")

    def node(turn: int) -> None:
        status = {"status": {"images": [{"names": [f"registry.example/web:{turn}"], "sizeBytes": turn}]}}
        write(cluster, "PATCH", f"/api/v1/nodes/node-{turn % NODES}/status", status)

    def secret(turn: int) -> None:
        metadata = {"name": f"tls-{turn % 200}", "namespace": f"ns-{turn % 10}"}
        cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"turn": str(turn)}})

    def grant(turn: int) -> None:
        name = f"grant-{turn}"
        told.written[f"user:{name}"] = time.time()
        cluster.create(binding(name, "starter" if turn % 2 else "reader", f"user:{name}", namespace=f"ns-{turn % 7}"))
        grants.append(name)
        if len(grants) > 20:
            gone = grants.popleft()
            cluster.delete("RoleBinding", gone, namespace=f"ns-{int(gone[6:]) % 7}")

    return {"pods": pod, "nodes": node, "secrets": secret, "grants": grant}


def main() -> int:
    """Serve, write and watch; gives back 1 if a grant was not told or memory grew by more than a tenth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--bindings", type=int, default=10_000)
    parser.add_argument("--day", type=float, default=1.0, help="what part of a day's writes (default 1: all)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cluster, config = filled(args.bindings), Path(folder) / "kubeconfig"
        server = cluster.serve(kubeconfig=config)
        command = [sys.executable, "-m", "simkit", "watch", "--kubeconfig", str(config), "-o", "json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            while "watching" not in (line := process.stderr.readline()):
                print(line, end="", flush=True)
            print(line, end="", flush=True)
            told = Told(process.stdout)
            try:
                figures = day(churn(cluster, told), told, args.minutes * 60, args.day, process.pid)
                time.sleep(10)
            finally:
                process.terminate()
            print(process.stderr.read(), end="")
            told.join()
        server.stop()
    late, settled = sorted(told.late), figures[len(figures) // 6]
    print(f"{len(late):,} grants told, {len(told.written)} not; seconds: half {late[len(late) // 2]:.1f}, ", end="")
    print(f"99 % {late[len(late) * 99 // 100]:.1f}, all {late[-1]:.1f}; MB: {settled:.0f}, then {figures[-1]:.0f}")
    return int(bool(told.written) or figures[-1] > ALLOWED * settled)


def day(work: dict[str, Callable[[int], None]], told: Told, seconds: float, part: float, pid: int) -> list[float]:
    """Write what a day brings within some seconds; the megabytes of the process after each hour of that day."""
    figures, turns, start = list[float](), {name: itertools.count() for name in work}, time.monotonic()
    done = dict.fromkeys(work, 0)
    print(f"{'minute':>6}{'MB':>8}{'turns':>8}{'grants':>8}{'told':>7}{'slowest':>9}", flush=True)
    while (passed := time.monotonic() - start) < seconds:
        for name, run in work.items():
            while done[name] < A_DAY[name] * part * passed / seconds:
                run(next(turns[name]))
                done[name] += 1
        if passed >= len(figures) * seconds / 24:
            figures.append(resident(pid) / 1024)
            row = f"{passed / 60:6.1f}{figures[-1]:8.1f}{sum(done.values()):8}{done['grants']:8}{len(told.late):7}"
            print(f"{row}{max(told.late, default=0.0):9.2f}", flush=True)
        time.sleep(0.02)
    return figures


if __name__ == "__main__":
    sys.exit(main())
