"""Times of the analyses on a cluster with very many bindings. Run it: ``python -m tests.bench.bench_analysis``."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from simkit.analysis import audit, can, who_can
from simkit.analysis.access.resolve import question_of, resolve_permission
from simkit.analysis.rbac.index import index_of
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.question import Question
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import account, binding, role, rule

BINDINGS, NAMESPACES, ROLES = 100_000, 1_000, 2_000
KINDS = ("pods", "services", "configmaps", "deployments", "endpoints", "events", "jobs", "ingresses", "leases")


def objects(count: int) -> Iterator[dict[str, Any]]:
    """A cluster of ``count`` bindings in namespaces; one role in two hundred reads secrets."""
    name_source = random.Random(7)
    for number in range(ROLES):
        verbs = ",".join(name_source.sample(("get", "list", "watch", "create", "update", "patch", "delete"), 3))
        extra = [rule("get", "secrets")] if number % 200 == 0 else []
        yield role(f"role-{number}", *(rule(verbs, ",".join(name_source.sample(KINDS, 2))) for _ in range(3)), *extra)
    for number in range(NAMESPACES):
        yield account(f"ns-{number}", "app")
    for number in range(count):
        place, name = f"ns-{number % NAMESPACES}", f"role-{name_source.randrange(ROLES)}"
        subject = name_source.choice(
            (f"sa:{place}/app-{number % 40}", f"user:u{number % 9973}", f"group:g{number % 499}")
        )
        yield binding(f"b{number}", name, subject, namespace=place)


def best(action: Callable[[], object], times: int) -> float:
    """The shortest of several runs, in seconds."""
    measured = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        measured.append(time.perf_counter() - start)
    return min(measured)


def main() -> None:
    """Measure and print."""
    snapshot = MemorySnapshot(objects(BINDINGS), captured=["*"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    index = index_of(snapshot)
    print(f"index of {BINDINGS:,} bindings   {time.perf_counter() - start:8.2f} s")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"  memory for it               {grown:8.0f} MB")
    for verb, word in (("get", "secrets"), ("delete", "nodes")):
        question = question_of(resolve_permission(snapshot, verb, word))
        rows = len(who_can(snapshot, verb, word))
        print(f"who can {verb} {word}, {rows:,} rows")
        print(f"  answers of the index        {best(partial(_consume, index, question), 5) * 1e3:8.2f} ms")
        print(f"  as a DataFrame              {best(partial(who_can, snapshot, verb, word), 5) * 1e3:8.2f} ms")
    print(f"can, in process               {best(partial(_thousand, snapshot), 5) * 1e3:8.2f} us")
    print(f"audit                         {best(partial(audit, snapshot), 1):8.2f} s")


def _consume(index: AccessIndex, question: Question) -> None:
    for _ in index.who(question):
        pass


def _thousand(snapshot: MemorySnapshot) -> None:
    for _ in range(1000):
        can(snapshot, "sa:ns-7/app-7", "delete", "pods", namespace="ns-7")


if __name__ == "__main__":
    main()
