"""Remedies, plans and commands are tried on forks, and the analyses of one cluster agree."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

import simkit
from simkit.analysis import audit, causes, escalations
from simkit.analysis.escalation.cut.remedy import after
from simkit.analysis.findings.wide import ESCALATION_PATH
from simkit.analysis.least_privilege.change import Change, apply
from simkit.analysis.rbac.default_objects import administrators
from simkit.cluster.cluster import Cluster
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.escalation.scenes import pod, served
from tests.analysis.escalation.test_cut import event
from tests.analysis.plan.test_plan import small
from tests.analysis.worlds import account, binding, namespace, role, rule
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.slow

RBAC = "rbac.authorization.k8s.io"
AGGREGATED = {f"{RBAC}/aggregate-to-edit": "true"}


@cache
def cluster_of(name: str) -> Cluster:
    """The demo cluster, the cluster of operators and teams, or a small one whose role edit somebody extended."""
    if name == "demo":
        return simkit.demo(seed=1)
    if name == "operators-and-teams":
        return simkit.load(SHARED / "datasets" / "operators-and-teams.json.gz")
    cluster = served(
        *(namespace("dev"), namespace("ops"), account("dev", "app"), account("ops", "admin")),
        *(pod("ops", "boss-0", "admin"), binding("owners", "cluster-admin", "group:owners")),
        *(binding("boss", "cluster-admin", "sa:ops/admin"), binding("dev", "edit", "user:ann", namespace="dev")),
        binding("ops", "edit", "user:bob", namespace="dev"),
        role(
            "sharing",
            rule("create", "rolebindings", groups=RBAC),
            rule("bind", "clusterroles", groups=RBAC),
            rule("get,list", "secrets"),
            labels=AGGREGATED,
        ),
    )
    cluster.settle()  # the controller fills edit
    return cluster


CLUSTERS = ["demo", "extended", pytest.param("operators-and-teams", marks=[needs_shared, pytest.mark.slow])]


def check_remedies(cluster: Cluster) -> None:
    """Each remedy closes as many paths as it says, and leaves the administrators."""
    kept, before = administrators(cluster.snapshot()).keys(), len(cluster.escalations())
    for cause in cluster.causes():
        if cause.remedy and not cause.paths:
            assert kept <= administrators(cause.remedy.after()).keys(), cause
        elif cause.remedy:
            fork = cluster.fork()
            apply(fork, cause.remedy.changes)
            assert kept <= administrators(fork.snapshot()).keys(), cause
            assert before - len(fork.escalations()) == cause.closes, cause


def check_plans(cluster: Cluster, log: bytes | None = None) -> None:
    """A plan and a cut close what they say, leave the administrators, and keep what a log shows."""
    kept = administrators(cluster.snapshot()).keys()
    plan, cut = cluster.remediation_plan(best=3, audit_log=log), cluster.cut(audit_log=log)
    assert plan.verify(cluster)
    assert cut.verify(cluster)
    for steps in ([step.changes for step in plan], [cut.changes]):
        fork = cluster.fork()
        for changes in steps:
            apply(fork, changes)
        assert kept <= administrators(fork.snapshot()).keys()


def deletions(commands: Iterable[Any]) -> list[Change]:
    """The bindings that the commands of findings delete, all together."""
    return [Change(one.binding, None) for one in commands if one.command and one.binding is not None]


@pytest.mark.parametrize("name", CLUSTERS)
def test_remedies_do_what_they_say(name: str) -> None:
    check_remedies(cluster_of(name))


@pytest.mark.parametrize("name", CLUSTERS)
def test_plans_do_what_they_say(name: str) -> None:
    check_plans(cluster_of(name))


@pytest.mark.parametrize("name", CLUSTERS)
def test_all_commands_of_an_audit_together_leave_the_administrators(name: str) -> None:
    cluster = cluster_of(name)
    snapshot = cluster.snapshot()
    kept = administrators(snapshot).keys()
    assert kept
    assert kept <= administrators(after(snapshot, deletions(cluster.audit()))).keys()


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small())
def test_remedies_and_plans_on_random_clusters(snapshot: MemorySnapshot) -> None:
    """Paths are closed as said, administrators stay, and what a log shows in use is still allowed."""
    owners = binding("owners", "cluster-admin", "group:owners")
    objects = [obj for resource in snapshot.captured() for obj in snapshot.scan(resource)]
    objects = [obj for obj in objects if obj["metadata"]["name"] != "cluster-admin"]
    cluster = simkit.load({"apiVersion": "v1", "kind": "List", "items": [*objects, owners]}, manifests=True)
    check_remedies(cluster)
    uses = [event("dev/app", verb, "secrets", "dev", "db") for verb in ("get", "create")]
    check_plans(cluster, b"\n".join(map(orjson.dumps, uses)))


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_analyses_of_a_cluster_agree(name: str) -> None:
    """Paths, causes, plan, cut and audit are about the same subjects, and begin with the same change."""
    cluster = cluster_of(name)
    snapshot = cluster.snapshot()
    paths, made, plan = cluster.escalations(), cluster.causes(), cluster.remediation_plan(best=1)
    assert {path for one in made for path in one.paths} == set(paths)
    assert plan.paths == len(paths)
    found = [one for one in cluster.audit() if one.check == ESCALATION_PATH]
    assert {subject for one in found for subject in one.subjects} == {path.start.subject for path in paths}
    changed = {change.key for change in made[0].remedy.changes}
    assert plan[0].change.key in {*changed, made[0].key}
    assert made[0].closes == plan[0].closes
    cut = cluster.cut("cluster-admin")
    listed = escalations(snapshot, goal="cluster-admin")
    assert {path.subject for path in (*cut.closed, *cut.left)} == {path.subject for path in listed}


def test_the_cause_is_the_role_that_contributes_the_rule() -> None:
    """Of a rule that was aggregated into edit; it reaches its holders, and is the first change everywhere."""
    demo = cluster_of("demo")
    first, plan, cut = demo.causes()[0], demo.remediation_plan(best=1), demo.cut("cluster-admin")
    assert (first.key.name, first.kind, first.closes, len(first.remedy.effect)) == (
        *("pellowick:edit-sharing", "role rule", 45, 21),
    )
    assert plan[0].change.key == cut.removals[0].key == first.key
    assert "nobody" not in first.text + first.remedy.text


def test_nothing_is_unused_where_no_pod_was_captured() -> None:
    """An operator's binding in manifests of RBAC alone is not for deletion, and the check says that it was skipped."""
    objects = [account("op", "operator"), role("op", rule("*", "secrets")), binding("op", "op", "sa:op/operator")]
    snapshot = MemorySnapshot(objects, captured=["*"])
    assert not [one for one in causes(snapshot) if one.nature.name == "unused"]
    assert "unused-account" in {one.check for one in audit(snapshot).skipped}
