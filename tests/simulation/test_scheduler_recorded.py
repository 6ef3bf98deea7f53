"""The scheduler against answers of kube-scheduler: random nodes and pods, and what it said of another pod.

``recorded/scheduler-X.Y.json`` holds clusters with the objects that matter, and for each the pods that kube-scheduler of
that release was asked about on them. An answer has the scores of all nodes that passed its filters (``scores``, by plugin
and with weights), the only such node (``node``), or the message of its event, with the node and the pods that it
preempted. Left out are cases which depend on the order of equal things: victims that have not started, and sizes of one
image that differ between nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from simkit.client.lister import Lister
from simkit.schema.behaviour import default_behaviour
from simkit.simulation.scheduler.algorithm import SCORES, Algorithm, Findings
from simkit.simulation.scheduler.node_info import PodInfo
from simkit.simulation.scheduler.preemption import candidates, chosen, ineligible
from simkit.simulation.scheduler.scheduler_cache import SchedulerCache
from simkit.simulation.scheduler.view import View, fit_message, not_preempted
from simkit.snapshot.memory import MemorySnapshot

Obj = dict[str, Any]
FOLDER = Path(__file__).parent / "recorded"
PLUGINS = (
    "TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
)  # fmt: skip
"""The plugins that score, in the order of the profile."""
CAPTURED = [
    "namespaces", "services", "replicationcontrollers", "persistentvolumes", "persistentvolumeclaims",
    "replicasets.apps", "statefulsets.apps", "poddisruptionbudgets.policy", "storageclasses.storage.k8s.io",
    "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io",
]  # fmt: skip


def worlds() -> Iterator[Any]:
    """All recorded clusters."""
    for path in sorted(FOLDER.glob("scheduler-*.json")):
        release = path.stem.removeprefix("scheduler-")
        for world in json.loads(path.read_text(encoding="utf-8")):
            yield pytest.param(release, world, id=f"{release}-{world['world']}")


def view_of(objects: list[Obj], release: str) -> View:
    """The scheduler's view of a recorded cluster."""
    cache = SchedulerCache(default_behaviour(release))
    for each in objects:
        if each["kind"] == "Node":
            cache.set_node(each)
    for each in objects:
        if each["kind"] == "Pod":
            cache.set_pod(each)
    others = [each for each in objects if each["kind"] not in ("Node", "Pod")]
    return View(cache, Lister(MemorySnapshot(others, release, captured=CAPTURED)))


def scores(pod: PodInfo, view: View, findings: Findings) -> dict[str, dict[str, int]]:
    """The scores of each node, by the plugins that give them."""
    found: dict[str, dict[str, int]] = {info.name: {} for info in findings.feasible}
    for name, (weight, plugin) in zip(PLUGINS, SCORES, strict=True):
        given = plugin(pod, view, findings.feasible) or [0] * len(findings.feasible)
        for info, score in zip(findings.feasible, given, strict=True):
            found[info.name][name] = weight * score
    return found


def recorded_scores(answer: Obj) -> dict[str, dict[str, int]]:
    """The recorded scores in the same form; a plugin that had nothing to say gave none."""
    return {node: {name: given.get(name, 0) for name in PLUGINS} for node, given in answer["scores"].items()}


@pytest.mark.parametrize(("release", "world"), list(worlds()))
def test_answers_are_those_of_kube_scheduler(release: str, world: Obj) -> None:
    """The same nodes pass, with the same scores; messages are the same, and so are the pods that are preempted."""
    for asked in world["asked"]:
        view, pod = view_of(world["objects"], release), PodInfo(asked["pod"])
        findings = Algorithm(Random(1)).find(pod, view, {})
        names = sorted(info.name for info in findings.feasible)
        if "scores" in asked:
            assert scores(pod, view, findings) == recorded_scores(asked)
        elif "node" in asked:
            assert names == [asked["node"]]
        elif "nominated" in asked:
            assert names == []
            check_preemption(pod, view, findings, asked)
        else:
            assert names == []
            assert message(pod, view, findings) == asked["message"]


def check_preemption(pod: PodInfo, view: View, findings: Findings, asked: Obj) -> None:
    """The chosen node and its victims, except for those that were about to go anyway."""
    assert not ineligible(pod, view, findings.rejections)
    best = chosen(candidates(pod, view, findings.rejections, {}, 0)[0])
    assert best.info.name == asked["nominated"]
    assert sorted("/".join(each.key) for each in best.victims if not each.terminating) == asked["victims"]
    assert sentence(view, findings, "") == asked["message"]


def message(pod: PodInfo, view: View, findings: Findings) -> str:
    """The message about a pod for which there is no room, and none can be made."""
    why = ineligible(pod, view, findings.rejections)
    if not why:
        found, why = candidates(pod, view, findings.rejections, {}, 0)
        assert not any(each.victims for each in found)
    return sentence(view, findings, why)


def sentence(view: View, findings: Findings, why: str) -> str:
    """The whole sentence of the event."""
    after = not_preempted(view.behaviour, why, before=findings.before)
    return fit_message(len(view.cache.nodes()), findings.rejections.values(), before=findings.before, after=after)
