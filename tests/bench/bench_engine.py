"""The engine without any wire: creations, access reviews, forks through the facade."""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterable
from typing import Any

import simkit
from simkit.meta.domain import RBAC_GROUP, api_group
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request

GOALS = {
    "pods a second": 1000.0,
    "config maps a second": 2700.0,
    "access reviews a second": 4000.0,
    "fork, ms": 1.0,
    "first write on a fork, ms": 2.0,
}
ROOT = Identity("bench", (MASTERS,))
_NAMESPACED = "/api/v1/namespaces/default"


def config_map(number: int) -> dict[str, Any]:
    """A config map of 1 KB."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}, "data": {"text": "x" * 900}}


def pod(number: int) -> dict[str, Any]:
    """A pod as people write them."""
    container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}
    metadata = {"name": f"p{number}", "labels": {"app": "web"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def review(number: int) -> dict[str, Any]:
    """The question whether one of many users may read pods."""
    attributes = {"verb": "get", "resource": "pods", "namespace": "default"}
    spec = {"user": f"u{number}", "resourceAttributes": attributes}
    return {"apiVersion": f"{api_group('authorization')}/v1", "kind": "SubjectAccessReview", "spec": spec}


def binding(number: int) -> dict[str, Any]:
    """A binding of a user of its own."""
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"b{number}", "namespace": "default", "uid": f"b{number}"},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": RBAC_GROUP, "kind": "User", "name": f"u{number}"}],
    }


def crowded(count: int) -> simkit.Cluster:
    """A loaded cluster with that many bindings and config maps."""
    role: dict[str, Any] = {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "view", "uid": "view"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "uid": "default"}}
    maps = [config_map(number) for number in range(count)]
    for obj in maps:
        obj["metadata"] |= {"namespace": "default", "uid": obj["metadata"]["name"]}
    return simkit.load([namespace, role, *maps, *(binding(number) for number in range(count))])


def rate(cluster: simkit.Cluster, path: str, bodies: Iterable[dict[str, Any]]) -> float:
    """Creations a second."""
    requests = [Request.of("POST", path, body, headers={"user-agent": "bench"}) for body in bodies]
    begun = time.perf_counter()
    answers = [cluster.perform(request, identity=ROOT) for request in requests]
    taken = time.perf_counter() - begun
    assert all(answer.succeeded for answer in answers)
    return len(requests) / taken


def milliseconds(action: Callable[[], object], times: int = 50) -> float:
    """The median time of an action."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begun)
    return sorted(taken)[times // 2] * 1000


def main() -> None:
    """Measure and print each figure with the ratio to its goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=100_000, help="bindings, and config maps, of the crowded one")
    count = parser.parse_args().objects
    cluster, full = simkit.Cluster(), crowded(count)
    gc.collect()
    gc.freeze()
    reviews = f"/apis/{api_group('authorization')}/v1/subjectaccessreviews"
    figures = {
        "pods a second": rate(cluster, f"{_NAMESPACED}/pods", (pod(number) for number in range(2000))),
        "config maps a second": rate(cluster, f"{_NAMESPACED}/configmaps", (config_map(n) for n in range(5000))),
        "access reviews a second": rate(full, reviews, (review(number % count) for number in range(5000))),
        "fork, ms": milliseconds(full.fork),
    }
    forks = iter([full.fork() for _ in range(50)])
    figures["first write on a fork, ms"] = milliseconds(lambda: next(forks).create(config_map(count)))
    for what, value in figures.items():
        better = GOALS[what] / value if what.endswith("ms") else value / GOALS[what]
        print(f"{what:26} {value:10,.2f}   {better:6.1f} times better than the goal")


if __name__ == "__main__":
    main()
