"""What must never, and what must always be possible."""

from __future__ import annotations

import pytest

import simkit
from simkit.analysis import always, never
from simkit.meta.errors import SimkitError
from simkit.seams.authorization import stated
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import binding, role, rule

OBJECTS = [
    role("reader", rule("get", "secrets")),
    role("one", rule("get", "secrets", names="db")),
    role("admin", rule("*", "*", groups="*"), rule("*", urls="*")),
    binding("ops", "reader", "group:ops", namespace="pay"),
    binding("leak", "one", "user:mallory", namespace="pay"),
    binding("admins", "admin", "group:admins", "group:system:masters"),
]


def snapshot(*modes: str) -> MemorySnapshot:
    """Readers of secrets in one namespace, one of a single secret, and administrators."""
    return MemorySnapshot(OBJECTS, captured=["*"], authorization=stated(modes or ["RBAC"]))


def test_never_finds_everybody_even_for_a_single_object() -> None:
    """Each counterexample is a request for what the grant holds for."""
    answer = never(snapshot(), "get secrets in pay")
    assert answer.verdict == "FAIL"
    assert {each.subject for each in answer.counterexamples} == {"group:ops", "user:mallory", "group:admins"}
    assert "get secrets 'db' in pay" in {each.request for each in answer.counterexamples}


def test_exceptions_hold_for_the_members_of_groups() -> None:
    """Patterns name subjects; whoever is in such a group may."""
    excepted = ["group:admins", "group:o*", "user:mallory"]
    answer = never(snapshot(), "get secrets in pay", except_=excepted)
    assert answer.verdict == "PASS"
    assert "group:ops" in answer.why
    account = [*OBJECTS, binding("robot", "reader", "sa:pay/robot", namespace="pay")]
    side = MemorySnapshot(account, captured=["*"], authorization=stated(["RBAC"]))
    assert never(side, "get secrets in pay", except_=excepted).verdict == "FAIL"
    assert never(side, "get secrets in pay", except_=[*excepted, "group:system:serviceaccounts:pay"]).passed


def test_a_joining_node_is_somebody() -> None:
    """The Node authorizer allows things to every node, also where the dump has none."""
    answer = never(snapshot("Node", "RBAC"), "create events", except_=["group:admins"])
    assert [each.subject for each in answer.counterexamples] == ["user:system:node:somebody"]
    assert never(snapshot("Node", "RBAC"), "create events", except_=["group:admins", "group:system:nodes"]).passed


def test_goals_are_executed_on_a_cluster() -> None:
    """Without steps and with some; a path that cannot be executed leaves it unknown."""
    cluster = simkit.Cluster(seed=1)
    assert cluster.never("cluster-admin").verdict == "PASS"
    cluster.apply(role("maker", rule("create", "serviceaccounts/token")))
    cluster.apply(role("admin", rule("*", "*", groups="*")))
    cluster.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "strong", "namespace": "default"}}
    )
    cluster.apply([binding("maker", "maker", "group:devs"), binding("strong", "admin", "sa:default/strong")])
    excepted = ["sa:default/strong", "sa:kube-system/*", "user:system:*"]
    assert cluster.never("cluster-admin", except_=excepted).passed
    answer = cluster.never("cluster-admin", except_=excepted, within_hops=1)
    assert answer.verdict == "FAIL"
    assert "group:devs reaches cluster-admin" in answer.why
    assert never(cluster.snapshot(), "cluster-admin", except_=excepted, within_hops=1).verdict == "UNKNOWN"


def test_always_needs_somebody_besides_masters() -> None:
    """One of the given subjects is enough; requests of named ones are executed."""
    assert always(snapshot(), "delete nodes").passed
    assert always(snapshot(), "get secrets in pay", by="group:ops").passed
    assert always(snapshot(), "get secrets", by="group:ops").verdict == "FAIL"
    refused = always(snapshot(), "get secrets in pay", by=["user:zoe", "group:z*"])
    assert refused.verdict == "FAIL"
    assert [each.subject for each in refused.counterexamples] == ["user:zoe"]
    only_masters = MemorySnapshot([*OBJECTS[:3], binding("m", "admin", "group:system:masters")], captured=["*"])
    assert always(only_masters, "delete nodes").verdict == "FAIL"
    with pytest.raises(SimkitError, match="about a permission"):
        always(snapshot(), "cluster-admin")


def test_an_authorizer_that_cannot_be_seen_leaves_it_unknown() -> None:
    """It may allow more, or deny what RBAC grants."""
    assert never(snapshot("RBAC", "Webhook"), "get secrets").verdict == "UNKNOWN"
    assert never(snapshot("RBAC", "Webhook"), "cluster-admin").verdict == "UNKNOWN"
    assert always(snapshot("RBAC", "Webhook"), "get secrets").verdict == "UNKNOWN"
