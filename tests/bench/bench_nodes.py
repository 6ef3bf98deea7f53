"""Simulated nodes: processor time and memory per pod that becomes Running.

``python -m tests.bench nodes [--nodes N] [--pods P] [--events] [--step S] [--still]``. Pods come from deployments of 100 replicas
each. Without ``--events`` kubelets record no Events, as KWOK's stages do not; controllers and scheduler always do.
Processor time counts all threads of the process, so that a busy machine changes little. But on the machine's clock
nodes renew their leases all the time, the more the longer a busy machine takes: with ``--still`` the clock stands still.
"""

from __future__ import annotations

import argparse
import gc
import time
from typing import Any

import simkit
from simkit.cluster.options import Options
from simkit.meta.names import GroupResource
from simkit.meta.objects import at
from tests.bench.bench_store import resident

REPLICAS = 100
PODS = GroupResource("", "pods")
KWOK = 20.0
"""Pods a second that KWOK's documentation names."""


def deployment(number: int) -> dict[str, Any]:
    """A deployment of 100 small pods."""
    labels = {"app": f"web-{number}"}
    resources = {"requests": {"cpu": "10m", "memory": "10Mi"}}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "nginx", "resources": resources}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"web-{number}", "namespace": "default"},
        "spec": {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template},
    }


def running(cluster: simkit.Cluster) -> int:
    """The number of pods that run in the namespace ``default``."""
    return sum(at(pod, "status", "phase") == "Running" for pod in cluster.snapshot().scan(PODS, "default"))


def main() -> None:
    """Make the pods in steps, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=2_000)
    parser.add_argument("--step", type=int, default=1_000, help="the pods after which a line is printed")
    parser.add_argument("--events", action="store_true", help="kubelets record Events")
    parser.add_argument("--still", action="store_true", help="on a clock that stands still")
    given = parser.parse_args()
    gc.collect()
    before, start = resident(), time.process_time()
    clock = simkit.SimulatedClock() if given.still else None
    cluster = simkit.Cluster(options=Options(clock=clock, seed=1) if clock is not None else Options(seed=1))
    cluster.add_nodes(given.nodes, events=given.events)
    cluster.settle()
    print(
        f"{given.nodes:,} nodes: {time.process_time() - start:.1f} s, {(resident() - before) / 1e6:,.0f} MB", flush=True
    )
    made = 0
    while made < given.pods:
        start = time.process_time()
        for _ in range(given.step // REPLICAS):
            cluster.apply(deployment(made // REPLICAS))
            made += REPLICAS
        cluster.settle()
        took = time.process_time() - start
        assert running(cluster) == made, f"{running(cluster):,} of {made:,} pods run"
        rate, memory = given.step / took, (resident() - before) / 1e6
        print(
            f"{made:,} pods: {rate:,.0f} a second of processor time, {rate / KWOK:.0f} x KWOK, {memory:,.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
