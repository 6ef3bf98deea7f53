"""The tasks before each hop, the earliest release for each, and the losses of a way back."""

from __future__ import annotations

from typing import Any

from simkit.analysis.upgrade.items import read_items
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.analysis.upgrade.upgrade_plan import PlanStep, UpgradePlan
from simkit.analysis.upgrade.upgrade_report import report_of


def plan(objects: list[dict[str, Any]], since: str, to: str) -> UpgradePlan:
    return report_of(read_items(objects), ReleaseSpan.of(since, to)).plan()


def named(kind: str, api_version: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **more}


def steps(found: UpgradePlan, when: str) -> list[PlanStep]:
    return [step for step in found.steps if step.when == when]


def test_a_step_can_be_taken_when_its_version_is_there() -> None:
    """An Ingress can be rewritten from 1.19 on, and must be before 1.22."""
    found = plan([named("Ingress", "networking.k8s.io/v1beta1", spec={})] * 2, "1.18", "1.25")
    (step,) = steps(found, "before")
    assert (step.hop, step.possible_from, step.blocks, step.findings) == ("1.22", "1.19", True, 2)
    assert not found


def test_storage() -> None:
    """Objects are written anew after the storage version changes, and before the old one goes."""
    job = named("CronJob", "batch/v1", spec={})
    job["metadata"]["uid"] = "1"
    found = plan([job], "1.20", "1.25")
    told = [(step.hop, step.when, step.example) for step in found.steps if "storage migration" in step.step]
    assert told == [("1.22", "after", "cronjobs.batch"), ("1.25", "before", "cronjobs.batch")]


def test_a_way_back() -> None:
    """Objects of kinds that a hop brings are lost to view after a way back; manifests lose what they contain."""
    found = plan([{**named("Service", "v1"), "metadata": {"name": "a", "uid": "1"}}], "1.20", "1.21")
    assert "csistoragecapacities.storage.k8s.io" in steps(found, "rollback")[0].step
    assert found
    assert not steps(plan([], "1.20", "1.21"), "rollback")


def test_hop_by_hop() -> None:
    """Each release on the way has a row with the end of its life."""
    summary = plan([named("PodSecurityPolicy", "policy/v1beta1", spec={})], "1.23", "1.26").summary()
    assert summary["hop"].tolist() == ["1.24", "1.25", "1.26"]
    assert summary["blocking"].tolist()[0] == 0
    assert summary["blocking"].tolist()[1] > 0


def test_what_holds_an_upgrade_up_comes_first() -> None:
    """A budget without room is a step before the first hop that blocks nothing; what is only worth knowing is none."""
    budget = named("PodDisruptionBudget", "policy/v1", spec={"maxUnavailable": 0, "selector": {}})
    ingress = named("Service", "v1", spec={"externalIPs": ["1.2.3.4"]})
    (step,) = steps(plan([budget, ingress], "1.34", "1.36"), "before")
    assert (step.hop, step.blocks, step.findings) == ("1.35", False, 1)
    assert "eviction" in step.why
