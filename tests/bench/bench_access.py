"""The published shape of a large cluster, loaded and looked at: ``python -m tests.bench.bench_access``.

4,491 RoleBindings, 676 ClusterRoleBindings, 1,374 Roles and 721 ClusterRoles, with 10,000 subjects, as a file; then
40,000 RoleBindings. Each line names its goal; figures are of one process.
"""

from __future__ import annotations

import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from simkit.analysis import access_matrix, audit, exposure, reach, subjects, who_can
from simkit.logic.rbac.defaults import default_objects
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.load import load
from tests.analysis.worlds import account, binding, namespace, role, rule

SHAPE = {"RoleBinding": 4_491, "ClusterRoleBinding": 676, "Role": 1_374, "ClusterRole": 721}
SUBJECTS, NAMESPACES = 10_000, 300
KINDS = ("pods", "services", "configmaps", "secrets", "endpoints", "events", "pods/log", "pods/exec", "serviceaccounts")
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")
QUESTIONS = (
    *(("get", "secrets"), ("list", "secrets"), ("create", "pods"), ("create", "pods/exec"), ("delete", "nodes")),
    *(("escalate", "clusterroles"), ("bind", "clusterroles"), ("impersonate", "users"), ("patch", "deployments")),
)


def objects(shape: dict[str, int] = SHAPE) -> Iterator[dict[str, Any]]:
    """A cluster of a shape, the server's own roles and bindings counted in."""
    name_source = random.Random(7)
    own = [dict(obj) for obj in default_objects("1.30")]
    yield from own
    left = {kind: count - sum(obj["kind"] == kind for obj in own) for kind, count in shape.items()}
    places = [f"ns-{number}" for number in range(NAMESPACES)]
    yield from map(namespace, places)
    people = [f"sa:{places[number % NAMESPACES]}/app-{number}" for number in range(SUBJECTS * 6 // 10)]
    yield from (account(*text[3:].split("/")) for text in people)
    people += [f"user:person-{number}" for number in range(SUBJECTS * 3 // 10)]
    people += [f"group:team-{number}" for number in range(SUBJECTS - len(people))]
    for number in range(left["ClusterRole"]):
        yield role(f"cluster-{number}", *_rules(name_source))
    for number in range(left["Role"]):
        yield role(f"role-{number}", *_rules(name_source), namespace=places[number % NAMESPACES])
    waiting = iter(people)
    for number in range(left["ClusterRoleBinding"]):
        named = f"cluster-{name_source.randrange(left['ClusterRole'])}"
        yield binding(f"wide-{number}", named, *_some(waiting, people, name_source))
    for number in range(left["RoleBinding"]):
        local = number < left["Role"]
        named = f"role-{number}" if local else f"cluster-{name_source.randrange(left['ClusterRole'])}"
        who = _some(waiting, people, name_source)
        yield binding(f"b-{number}", named, *who, namespace=places[number % NAMESPACES], local=local)


def _rules(name_source: random.Random) -> list[dict[str, Any]]:
    return [
        rule(",".join(name_source.sample(VERBS, 3)), ",".join(name_source.sample(KINDS, 2))),
        rule(",".join(name_source.sample(VERBS, 2)), "deployments,statefulsets", groups="apps"),
    ]


def _some(waiting: Iterator[str], people: list[str], name_source: random.Random) -> list[str]:
    """The next two who have no binding yet, or any."""
    return [next(waiting, None) or name_source.choice(people) for _ in range(2)]


def told(what: str, value: float, unit: str, goal: float) -> None:
    """Print a figure beside its goal."""
    print(f"{what:56s} {value:10.2f} {unit:3s} goal {goal:6.0f}  {goal / value:6.1f} times better")


def _written(folder: str, shape: dict[str, int]) -> Path:
    path = Path(folder) / f"{sum(shape.values())}.json"
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects(shape))}))
    return path


def _whole(path: Path) -> None:
    """Load a file and make all default analyses."""
    start = time.perf_counter()
    snapshot = load(path, captured=["*"]).snapshot()
    loaded = time.perf_counter() - start
    found = audit(snapshot)
    reach(snapshot)
    exposure(snapshot)
    subjects(snapshot)
    told("the published shape, loaded and audited", time.perf_counter() - start, "s", 5)
    print(f"  of it to load {loaded:.2f} s; {len(found.findings):,} findings")
    _questions(snapshot)
    start = time.perf_counter()
    matrix = access_matrix(snapshot)
    count = matrix["subject"].nunique()
    told(f"access matrix: {count:,} subjects, {len(matrix):,} rows", time.perf_counter() - start, "s", 10)


def _questions(snapshot: Snapshot) -> None:
    times, rows = [], []
    start = time.perf_counter()
    who_can(snapshot, "get", "pods")
    print(f"  the first question, which makes the rows of all grants: {(time.perf_counter() - start) * 1e3:.0f} ms")
    for verb, word in QUESTIONS * 5:  # each is asked again, as a reader does who narrows it down
        start = time.perf_counter()
        answer = who_can(snapshot, verb, word)
        times.append(time.perf_counter() - start)
        rows.append(len(answer))
    median = statistics.median(times)
    told(f"who can, as a DataFrame, median (of {statistics.median(rows):.0f} rows)", median * 1e3, "ms", 1)


def _memory(path: Path) -> None:
    """Load a file, ask and audit, in a process of its own."""
    start = time.perf_counter()
    snapshot = load(path, captured=["*"]).snapshot()
    who_can(snapshot, "get", "secrets")
    audit(snapshot)
    told("40,000 RoleBindings, loaded and audited", time.perf_counter() - start, "s", 30)
    told("  memory of the process", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB", 1000)


def main() -> None:
    """Measure and print."""
    if len(sys.argv) > 1:
        _memory(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        _whole(_written(folder, SHAPE))
        wide = _written(folder, {**SHAPE, "RoleBinding": 40_000})
        subprocess.run([sys.executable, "-m", "tests.bench.bench_access", str(wide)], check=True)


if __name__ == "__main__":
    main()
