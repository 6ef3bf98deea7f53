"""Counts of the pods that selectors mean: right after each change, and as cheap with many pods and selectors as with few."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from simkit.meta.labels import LabelSelector, parse
from simkit.schema.behaviour import default_behaviour
from simkit.simulation.scheduler.node_info import PodInfo
from simkit.simulation.scheduler.scheduler_cache import SchedulerCache, _Count
from tests.simulation.worlds import pod

SELECTORS = ("app=a", "app=b,tier in (x,y)", "tier", "app!=a", "tier notin (x)", "app in (a,b)", "app=a,app=b")


def placed(name: str, node: str, **labels: str) -> dict[str, Any]:
    """A pod on a node."""
    made = pod(name, labels=labels, nodeName=node)
    return {**made, "metadata": {**made["metadata"], "namespace": "default"}}


@pytest.mark.parametrize("seed", range(30))
def test_counts_are_those_of_a_naive_look(seed: int) -> None:
    """After pods came, went, moved and changed their labels, whenever a selector is asked for first."""
    random, cache, pods = Random(seed), SchedulerCache(default_behaviour("1.30")), dict[str, dict[str, Any]]()
    selectors = [parse(each) for each in SELECTORS]
    for _ in range(60):
        name = f"p{random.randrange(8)}"
        if random.random() < 0.3:
            cache.remove_pod("default", name)
            pods.pop(name, None)
        else:
            labels = {
                key: random.choice(values) for key, values in (("app", "abc"), ("tier", "xyz")) if random.random() < 0.7
            }
            pods[name] = placed(name, f"n{random.randrange(3)}", **labels)
            cache.set_pod(pods[name])
        selector = random.choice(selectors)
        wanted = Counter(
            each["spec"]["nodeName"] for each in pods.values() if selector.matches(each["metadata"]["labels"])
        )
        assert cache.matching("default", selector) == wanted


def test_many_selectors_are_forgotten_in_turn() -> None:
    """Those that were asked for last are kept up to date, and others are counted anew."""
    cache = SchedulerCache(default_behaviour("1.30"))
    for number in range(200):
        cache.set_pod(placed(f"p{number}", "n", app=str(number)))
        assert cache.matching("default", parse(f"app={number}")) == {"n": 1}
    cache.set_pod(placed("more", "n", app="0"))
    assert cache.matching("default", parse("app=0")) == {"n": 2}
    assert cache.matching("default", parse("app=199")) == {"n": 1}


def steps(monkeypatch: pytest.MonkeyPatch, groups: int) -> tuple[int, int]:
    """How often a pod was held against a selector, for one more pod and for one more selector, among groups of pods."""
    cache, held = SchedulerCache(default_behaviour("1.30")), [0]
    count = _Count.count

    def counted(self: _Count, pod: PodInfo, node: str, sign: int) -> None:
        held[0] += 1
        count(self, pod, node, sign)

    monkeypatch.setattr(_Count, "count", counted)
    for group in range(groups):
        for number in range(5):
            cache.set_pod(placed(f"p{group}-{number}", "n", app=str(group), tier="x"))
        cache.matching("default", selector(group))
    held[0] = 0
    cache.set_pod(placed("more", "n", app="0", tier="x"))
    for_a_pod, held[0] = held[0], 0
    cache.matching("default", parse("app=0"))
    monkeypatch.undo()
    return for_a_pod, held[0]


def selector(group: int) -> LabelSelector:
    """The selector of a group of pods, which asks for a label that all groups have too."""
    return parse(f"tier=x,app={group}")


def test_the_number_of_other_pods_and_selectors_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod is held against the selectors that ask for its own labels, a new selector against the pods that have its."""
    assert steps(monkeypatch, 4) == steps(monkeypatch, 50) == (1, 6)
