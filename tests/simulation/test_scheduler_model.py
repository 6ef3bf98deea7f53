"""The scheduler against a naive reading of the documentation, and its cache against one that is made anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.client.lister import Lister
from simkit.meta.quantity import parse
from simkit.schema.behaviour import default_behaviour
from simkit.simulation.scheduler.algorithm import Algorithm, total_scores
from simkit.simulation.scheduler.node_info import PodInfo
from simkit.simulation.scheduler.scheduler_cache import SchedulerCache
from simkit.simulation.scheduler.view import View
from simkit.snapshot.memory import MemorySnapshot

pytestmark = pytest.mark.slow

Obj = Mapping[str, Any]
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
APPS = ["a", "b"]
TAINTS = [{"key": "t", "value": value, "effect": effect} for value in "xy" for effect in ("NoSchedule", "NoExecute")]
TOLERATIONS = [{"key": "t", "operator": "Exists"}, {"key": "t", "value": "x"}, {"operator": "Exists"}]


@st.composite
def nodes(draw: st.DrawFn) -> list[dict[str, Any]]:
    """One to four nodes."""
    made = []
    for number in range(draw(st.integers(1, 4))):
        labels = {HOST: f"n{number}"}
        zone = draw(st.sampled_from(["", "z1", "z2"]))
        labels |= {ZONE: zone} if zone else {}
        spec: dict[str, Any] = {"taints": draw(st.lists(st.sampled_from(TAINTS), max_size=1))}
        spec["unschedulable"] = draw(st.sampled_from([False, False, True]))
        amounts = {"cpu": draw(st.sampled_from(["1", "2"])), "memory": "4Gi", "pods": draw(st.sampled_from(["2", "9"]))}
        made.append(
            {"metadata": {"name": f"n{number}", "labels": labels}, "spec": spec, "status": {"allocatable": amounts}}
        )
    return made


@st.composite
def pods(draw: st.DrawFn, name: str, node: str = "") -> dict[str, Any]:
    """A pod with some of everything that keeps it from nodes."""
    app = draw(st.sampled_from(APPS))
    requests = draw(st.sampled_from([{}, {"cpu": "500m"}, {"cpu": "1", "memory": "3Gi"}]))
    port = draw(st.sampled_from([0, 0, 80]))
    container: dict[str, Any] = {"name": "c", "image": "i", "resources": {"requests": requests}}
    container |= {"ports": [{"containerPort": 80, "hostPort": port}]} if port else {}
    spec: dict[str, Any] = {"containers": [container], "nodeName": node}
    spec["tolerations"] = draw(st.lists(st.sampled_from(TOLERATIONS), max_size=1))
    if draw(st.booleans()) and not node:
        spec["nodeSelector"] = {ZONE: "z1"}
    kinds = draw(st.lists(st.sampled_from(["podAffinity", "podAntiAffinity"]), max_size=1))
    for kind in kinds:
        term = {
            "topologyKey": draw(st.sampled_from([HOST, ZONE])),
            "labelSelector": {"matchLabels": {"app": draw(st.sampled_from(APPS))}},
        }
        spec["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if draw(st.booleans()):
        spec["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": draw(st.sampled_from([HOST, ZONE])), "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchLabels": {"app": app}}}
        ]  # fmt: skip
    return {"metadata": {"name": name, "namespace": "d", "labels": {"app": app}}, "spec": spec, "status": {}}


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """Nodes, the pods on them, and one that has none."""
    made = draw(nodes())
    placed = [
        draw(pods(f"p{number}", f"n{draw(st.integers(0, len(made) - 1))}")) for number in range(draw(st.integers(0, 5)))
    ]
    return made, placed, draw(pods("new"))


def naive(given_nodes: Sequence[Obj], placed: Sequence[Obj], pod: Obj) -> set[str]:
    """The nodes that are for a pod, each question asked from the start."""
    by_name = {each["metadata"]["name"]: each for each in given_nodes}

    def labels(name: str) -> Obj:
        found: Obj = by_name[name]["metadata"]["labels"]
        return found

    def on(name: str) -> list[Obj]:
        return [each for each in placed if each["spec"]["nodeName"] == name]

    def amount(each: Obj, resource: str) -> int:
        return parse(each["spec"]["containers"][0]["resources"]["requests"].get(resource, "0")).nano

    def ports(each: Obj) -> set[int]:
        return {port["hostPort"] for port in each["spec"]["containers"][0].get("ports", ())}

    def terms(each: Obj, kind: str) -> list[Obj]:
        hard = each["spec"].get("affinity", {}).get(kind, {})
        return list(hard.get("requiredDuringSchedulingIgnoredDuringExecution", ()))

    def means(selector: Obj, each: Obj) -> bool:
        return bool(selector["matchLabels"].items() <= each["metadata"]["labels"].items())

    def together(name: str, each: Obj, key: str) -> bool:
        return key in labels(name) and labels(each["spec"]["nodeName"]).get(key) == labels(name)[key]

    def tolerated(taint: Obj) -> bool:
        for each in pod["spec"]["tolerations"]:
            if each.get("key") in (None, taint["key"]) and (
                each.get("operator") == "Exists" or each.get("value") == taint["value"]
            ):
                return True
        return False

    def selected(name: str) -> bool:
        return bool(pod["spec"].get("nodeSelector", {}).items() <= labels(name).items())

    def wanted(name: str) -> bool:
        for term in terms(pod, "podAffinity"):
            key, selector = term["topologyKey"], term["labelSelector"]
            if key not in labels(name):
                return False
            others = [each for each in placed if means(selector, each)]
            nowhere = not any(key in labels(each["spec"]["nodeName"]) for each in others)
            if not any(together(name, each, key) for each in others) and not (nowhere and means(selector, pod)):
                return False
        return True

    def unwanted(name: str) -> bool:
        mine = any(
            means(term["labelSelector"], each) and together(name, each, term["topologyKey"])
            for term in terms(pod, "podAntiAffinity")
            for each in placed
        )
        theirs = any(
            means(term["labelSelector"], pod) and together(name, each, term["topologyKey"])
            for each in placed
            for term in terms(each, "podAntiAffinity")
        )
        return mine or theirs

    def spread(name: str) -> bool:
        for constraint in pod["spec"].get("topologySpreadConstraints", ()):
            key, selector = constraint["topologyKey"], constraint["labelSelector"]
            if key not in labels(name):
                return False
            counts: dict[str, int] = {}
            for other in by_name:
                if key in labels(other) and selected(other):
                    counts.setdefault(labels(other)[key], 0)
                    counts[labels(other)[key]] += sum(means(selector, each) for each in on(other))
            own = counts.get(labels(name)[key], 0) + means(selector, pod)
            if own - min(counts.values(), default=2**31) > constraint["maxSkew"]:
                return False
        return True

    found = set()
    for name, node in by_name.items():
        room = node["status"]["allocatable"]
        fits = len(on(name)) < int(room["pods"]) and all(
            amount(pod, resource) == 0
            or amount(pod, resource) + sum(amount(each, resource) for each in on(name)) <= parse(room[resource]).nano
            for resource in ("cpu", "memory")
        )
        open_ = not node["spec"]["unschedulable"] or {"operator": "Exists"} in pod["spec"]["tolerations"]
        tolerates = all(tolerated(taint) for taint in node["spec"]["taints"])
        free = not any(ports(pod) & ports(each) for each in on(name))
        if (
            fits
            and open_
            and tolerates
            and free
            and selected(name)
            and spread(name)
            and wanted(name)
            and not unwanted(name)
        ):
            found.add(name)
    return found


def view_of(given_nodes: Sequence[Obj], placed: Sequence[Obj]) -> View:
    """A fresh cache of a world."""
    cache = SchedulerCache(default_behaviour("1.30"))
    for each in given_nodes:
        cache.set_node(each)
    for each in placed:
        cache.set_pod(each)
    return View(cache, Lister(MemorySnapshot([], captured=["services", "namespaces", "replicasets.apps"])))


@settings(max_examples=300, deadline=None)
@given(worlds())
def test_feasible_nodes_are_those_of_a_naive_reading(world: tuple[list[Obj], list[Obj], Obj]) -> None:
    """Whatever keeps pods from nodes, alone and together."""
    given_nodes, placed, pod = world
    found = Algorithm(Random(1)).find(PodInfo(pod), view_of(given_nodes, placed), {})
    assert {info.name for info in found.feasible} == naive(given_nodes, placed, pod)
    assert len(found.feasible) + len(found.rejections) == len(given_nodes)


@settings(max_examples=150, deadline=None)
@given(worlds(), st.data())
def test_the_cache_follows_changes(world: tuple[list[Obj], list[Obj], Obj], data: st.DataObject) -> None:
    """After pods have come, moved and gone it knows, filters and scores as one that is made anew."""
    given_nodes, placed, pod = world
    view = view_of(given_nodes, placed)
    asked = PodInfo(pod)
    Algorithm(Random(1)).find(asked, view, {})  # what is counted once is kept up to date from then on
    left = {each["metadata"]["name"]: each for each in placed}
    for number in range(data.draw(st.integers(0, 4))):
        name = data.draw(st.sampled_from([*left, f"q{number}"]))
        if name in left and data.draw(st.booleans()):
            view.cache.remove_pod("d", name)
            del left[name]
        else:
            left[name] = data.draw(pods(name, f"n{data.draw(st.integers(0, len(given_nodes) - 1))}"))
            view.cache.set_pod(left[name])
    fresh = view_of(given_nodes, list(left.values()))
    found, expected = (Algorithm(Random(1)).find(asked, each, {}) for each in (view, fresh))
    assert [info.name for info in found.feasible] == [info.name for info in expected.feasible]
    assert found.rejections == expected.rejections
    everywhere = [total_scores(asked, each, each.cache.nodes()) for each in (view, fresh)]
    assert everywhere[0] == everywhere[1]
