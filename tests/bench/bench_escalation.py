"""Growth of the escalation closure with the cluster: ``python -m tests.bench.bench_escalation [PLOT.png]``.

Two shapes of clusters: one as teams have it, and one where a tenth of all grants, half of the roles for single names,
hold in the whole cluster, so that every holder could go to something in every namespace. The plot is written to
``build/escalation.png`` unless another file is named.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simkit.analysis.escalation import CLUSTER, escalations, graph_of
from simkit.analysis.escalation.find.search import towards
from simkit.analysis.rbac.objects import all_bindings
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
RBAC = "rbac.authorization.k8s.io"
WIDE_ROLES = (
    role("workloads", rule("patch,update", "deployments,statefulsets,daemonsets", groups="apps")),
    role("some-secrets", rule("get", "secrets", names="shared,registry,other")),
    role("labels", rule("update,patch", "clusterroles", groups=RBAC)),
    role("escalating", rule("update,patch,escalate", "clusterroles", groups=RBAC)),
    role(
        "binding",
        rule("create,update,patch", "rolebindings,clusterrolebindings", groups=RBAC),
        rule("bind", "clusterroles", groups=RBAC, names="workloads,some-secrets"),
    ),
    role("acting", rule("impersonate", "users,groups,serviceaccounts")),
    role("namespaces", rule("patch", "namespaces"), rule("create", "pods")),
    role("kubelets", rule("get", "nodes/proxy", names="node-1,node-2,node-3")),
    role("some-pods", rule("get", "pods/exec", names="app-0-0,app-1-0")),
    role("some-tokens", rule("create", "serviceaccounts/token", names="app-0,app-1")),
)
SHAPES = {"teams": 0.0, "a tenth cluster-wide": 0.1}
PLOT = Path("build/escalation.png")


def objects(subjects: int, wide: float = 0.0) -> Iterator[dict[str, Any]]:
    """A cluster with so many service accounts, a third as many pods, and two bindings for each account.

    ``wide`` is the share of bindings that hold in the whole cluster; with any, the roles are all as frequent.
    """
    name_source, spaces = random.Random(11), max(subjects // (10 if wide else 50), 2)
    roles = WIDE_ROLES if wide else ROLES
    yield from (*roles, ROLES[-1])
    for number in range(spaces):
        yield namespace(f"ns-{number}")
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shared", "namespace": f"ns-{number}"}}
        yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app", "namespace": f"ns-{number}"}}
    for number in range(6):
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}}
    yield binding("operators", "owner", "sa:ns-0/app-0")
    for number in range(subjects):
        place, name = f"ns-{number % spaces}", f"app-{number // spaces}"
        yield account(place, name)
        if number % 3 == 0:
            yield pod(place, f"{name}-0", name, f"node-{number % 6}")
        for copy in range(2):
            chosen = name_source.choices(roles, None if wide else WEIGHTS)[0]["metadata"]["name"]
            where = place if name_source.random() < 0.8 else f"ns-{name_source.randrange(spaces)}"
            where = "" if name_source.random() < wide else where
            yield binding(f"b-{number}-{copy}", chosen, f"sa:{place}/{name}", namespace=where)


def pod(place: str, name: str, of: str, node: str) -> dict[str, Any]:
    """A running pod of a service account."""
    spec = {"serviceAccountName": of, "nodeName": node, "containers": [{"name": "main", "image": "app"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": place}, "spec": spec}


def measure(subjects: int, wide: float) -> tuple[int, float]:
    """The number of grants, and the seconds that the closure of all subjects takes."""
    snapshot = MemorySnapshot(objects(subjects, wide), captured=["*"])
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
    """Measure, print and draw."""
    measured = {}
    for shape, wide in SHAPES.items():
        print(f"{shape}:")
        measured[shape] = [measure(subjects, wide) for subjects in SIZES]
    draw(measured, Path(sys.argv[1]) if len(sys.argv) > 1 else PLOT)


def draw(measured: Mapping[str, Sequence[tuple[int, float]]], path: Path) -> None:
    """Seconds over grants for each shape, each with the straight line through its last point."""
    from simkit.analysis.plots.style import Sheet

    tones = list(zip(measured, ("blue", "green")))
    subtitle = "Seconds by grants; dashed: in proportion to grants"
    sheet = Sheet(None, "Escalation closure of all subjects", subtitle, body=3.5, left=0.5, below=0.5, key=tones)
    for (_, tone), points in zip(tones, measured.values()):
        grants, seconds = zip(*points)
        sheet.axes.plot(grants, seconds, "o-", color=sheet.colour(tone))
        sheet.axes.plot((0, grants[-1]), (0, seconds[-1]), "--", color=sheet.colour("grey"), linewidth=0.8)
    sheet.axes.set_ylim(bottom=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.figure.savefig(path)
    print(f"drawn: {path}")


if __name__ == "__main__":
    main()
