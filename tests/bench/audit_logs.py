"""Large audit logs with a seed: ``python -m tests.bench.audit_logs 2000 audit.jsonl`` writes 2,000 MB.

With ``--index FOLDER`` the log is then read into an index, and asked; seconds and the most memory are printed.

Of a thousand events 700 are reads, 200 renew leases, 99 write pods with their bodies, and one in five thousand writes a
role or a binding with its body. All happen within a day.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from simkit.analysis.history.access_history import AccessHistory
from simkit.analysis.history.reconstruction import history
from simkit.meta.clock import timestamp
from simkit.meta.objects import Object
from tests.analysis.worlds import binding, role, rule
from tests.bench.bench_scale import peak

START = 1_772_500_000.0
DAY = 86_400.0
PEOPLE, ROLES, BINDINGS = 50, 40, 300
RBAC = "rbac.authorization.k8s.io"


def world() -> list[Object]:
    """The roles and bindings before the log begins."""
    roles = [role(f"r{number}", rule("get,list", "pods")) for number in range(ROLES)]
    return [*roles, *(_binding(number, random.Random(number)) for number in range(BINDINGS))]


def _binding(number: int, picked: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = binding(f"b{number}", f"r{picked.randrange(ROLES)}", f"user:p{picked.randrange(PEOPLE)}")
    return made


def events(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """So many events, in the order in which they were written."""
    picked = random.Random(seed)
    for number in range(count):
        kind = picked.random()
        if kind < 0.7:
            event = _event(picked, "get", "", "secrets" if kind < 0.01 else "pods", f"p-{number % 5000}")
        elif kind < 0.9:
            event = _event(picked, "update", "coordination.k8s.io", "leases", f"n-{number % 100}")
        elif kind < 0.9998:
            event = _event(picked, picked.choice(("create", "patch")), "", "pods", f"p-{number % 5000}")
            event |= {"level": "RequestResponse", "responseObject": _pod(event["objectRef"])}
        else:
            event = _access(picked)
        moment = timestamp(START + DAY * number / count)
        event |= {"auditID": f"{seed:08x}-{number:024x}", "requestReceivedTimestamp": moment, "stageTimestamp": moment}
        yield event


def _event(picked: random.Random, verb: str, group: str, resource: str, name: str) -> dict[str, Any]:
    where = f"ns-{picked.randrange(30)}"
    reference = {"resource": resource, "namespace": where, "name": name, "apiGroup": group, "apiVersion": "v1"}
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "stage": "ResponseComplete",
        "requestURI": f"/apis/{group}/v1/namespaces/{where}/{resource}/{name}",
        "verb": verb,
        "user": {"username": f"p{picked.randrange(PEOPLE)}", "groups": ["devs", "system:authenticated"]},
        "sourceIPs": ["192.0.2.1"],
        "userAgent": "kubectl/v1.30.0 (linux/amd64) kubernetes/0000000",
        "objectRef": reference,
        "responseStatus": {"metadata": {}, "code": 201 if verb == "create" else 200},
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
    }


def _pod(reference: dict[str, Any]) -> Object:
    container = {
        "name": "app",
        "image": "registry.example/app:1",
        "env": [{"name": f"V{i}", "value": "x" * 40} for i in range(30)],
    }
    place = {"name": reference["name"], "namespace": reference["namespace"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": place, "spec": {"containers": [container]}}


def _access(picked: random.Random) -> dict[str, Any]:
    if picked.random() < 0.3:
        verbs = picked.choice(("get", "get,list", "get,list,delete"))
        made, resource = (
            role(f"r{picked.randrange(ROLES)}", rule(verbs, picked.choice(("pods", "pods,secrets")))),
            "clusterroles",
        )
    else:
        made, resource = _binding(picked.randrange(BINDINGS), picked), "clusterrolebindings"
    event = _event(picked, "update", RBAC, resource, made["metadata"]["name"])
    del event["objectRef"]["namespace"]
    return event | {"level": "RequestResponse", "responseObject": made}


def write(path: Path, megabytes: int, seed: int = 1) -> None:
    """Write a log of so many megabytes."""
    size, per_event = megabytes * 1_000_000, 830
    with path.open("wb") as file:
        for event in events(seed, size // per_event):
            file.write(orjson.dumps(event) + b"\n")


def ask(path: Path, folder: Path) -> None:
    """Read a log into an index, and print what questions take."""
    past: AccessHistory | None = None

    def opened() -> None:
        nonlocal past
        past = history(world(), at=START, audit_log=path, index=folder)

    timed("read the log", opened)
    timed("open the index", opened)
    assert past is not None
    noon = START + DAY / 2
    timed("used_since", lambda: past.used_since("user:p3", "get", "secrets"))
    timed("can", lambda: past.can("user:p3", "get", "secrets", at=noon))
    timed("who_can", lambda: past.who_can("get", "secrets", at=noon))
    timed("since_when", lambda: past.since_when("user:p3", "get", "secrets"))
    timed("changes", past.changes)
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    print(f"{past!r}\nindex: {size:,.0f} MB; most memory: {peak():,.0f} MB")


def timed(what: str, run: Callable[[], object]) -> None:
    start = time.perf_counter()
    run()
    print(f"{what}: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("megabytes", type=int)
    parser.add_argument("path", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--index", type=Path)
    asked = parser.parse_args()
    if not asked.path.exists():
        write(asked.path, asked.megabytes, asked.seed)
    if asked.index:
        ask(asked.path, asked.index)
