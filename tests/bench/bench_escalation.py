"""How the escalation closure grows with the cluster. Run it: ``python -m tests.bench.bench_escalation [PLOT.png]``."""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

from simkit.analysis.escalation import CLUSTER, escalations, graph_of
from simkit.analysis.escalation.search import towards
from simkit.analysis.rbacobjects import all_bindings
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import account, binding, namespace, role, rule

SIZES = (1_250, 2_500, 5_000, 10_000)
ROLES = (
    role("reader", rule("get,list,watch", "pods,services,configmaps")),
    role(
        "deployer", rule("create,update,patch", "deployments", groups="apps"), rule("get", "secrets", names="registry")
    ),
    role("runner", rule("create", "pods"), rule("get", "pods,pods/log")),
    role("debugger", rule("create", "pods/exec"), rule("get,list", "pods")),
    role("tokens", rule("create", "serviceaccounts/token", names="app-1")),
    role(
        "sharer",
        rule("bind", "clusterroles", groups="rbac.authorization.k8s.io", names="reader,runner"),
        rule("create", "rolebindings", groups="rbac.authorization.k8s.io"),
    ),
    role("helpdesk", rule("impersonate", "users", names="u1,u2")),
    role("owner", rule("*", "*", groups="*")),
)
WEIGHTS = (60, 15, 8, 4, 3, 2, 1, 0.3)


def objects(subjects: int) -> Iterator[dict[str, Any]]:
    """A cluster with so many service accounts, a third as many pods, and two bindings for each account."""
    chance, spaces = random.Random(11), max(subjects // 50, 2)
    yield from ROLES
    for number in range(spaces):
        yield namespace(f"ns-{number}")
    for number in range(6):
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}}
    yield binding("operators", "owner", "sa:ns-0/app-0")
    for number in range(subjects):
        place, name = f"ns-{number % spaces}", f"app-{number // spaces}"
        yield account(place, name)
        if number % 3 == 0:
            yield pod(place, f"{name}-0", name, f"node-{number % 6}")
        for copy in range(2):
            chosen = chance.choices(ROLES, WEIGHTS)[0]["metadata"]["name"]
            where = place if chance.random() < 0.8 else f"ns-{chance.randrange(spaces)}"
            yield binding(f"b-{number}-{copy}", chosen, f"sa:{place}/{name}", namespace=where)


def pod(place: str, name: str, of: str, node: str) -> dict[str, Any]:
    """A running pod of a service account."""
    spec = {"serviceAccountName": of, "nodeName": node, "containers": [{"name": "main", "image": "app"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": place}, "spec": spec}


def measure(subjects: int) -> tuple[int, float]:
    """The number of grants, and the seconds that the closure of all subjects takes."""
    snapshot = MemorySnapshot(objects(subjects), captured=["*"])
    grants = sum(len(one.subjects) for one in all_bindings(snapshot))
    start = time.perf_counter()
    graph = graph_of(snapshot)
    found = towards(graph, CLUSTER)
    seconds = time.perf_counter() - start
    edges = sum(map(len, graph.reachable(graph.sources()).values()))
    start = time.perf_counter()
    listed = len(escalations(snapshot, goal="cluster-admin"))
    paths = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{subjects:7,} subjects {grants:8,} grants {edges:9,} steps {len(found):7,} reach it: {seconds:6.2f} s, "
        f"{1e6 * seconds / grants:6.1f} us a grant; {listed:,} paths {paths:5.2f} s; {memory:,.0f} MB"
    )
    return grants, seconds


def main() -> None:
    """Measure, print, and draw if a file is named."""
    points = [measure(subjects) for subjects in SIZES]
    if len(sys.argv) > 1:
        draw(points, sys.argv[1])


def draw(points: list[tuple[int, float]], path: str) -> None:
    """Seconds over grants, with the straight line through the first point."""
    from simkit.analysis.plots.style import BLUE, GREY, figure, title

    made, axes = figure(6, 4)
    grants, seconds = zip(*points)
    axes.plot(grants, seconds, "o-", color=BLUE, label="measured")
    axes.plot(grants, [seconds[0] * one / grants[0] for one in grants], "--", color=GREY, label="linear in grants")
    axes.set_xlabel("grants", fontsize=9)
    axes.set_ylabel("seconds", fontsize=9)
    axes.legend(fontsize=8, frameon=False)
    title(axes, "Escalation closure of all subjects")
    made.savefig(path)


if __name__ == "__main__":
    main()
