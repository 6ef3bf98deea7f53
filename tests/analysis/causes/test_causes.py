"""Root causes: each path and finding has one, mistakes are told from needs, and remedies do what they say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from simkit.analysis import audit, causes, compare, escalations
from simkit.analysis.causes import Cause, products
from simkit.snapshot.load import load
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.escalation.scenes import ATTACKER, fenced, pod, scene
from tests.analysis.plan.test_plan import small
from tests.analysis.plots_looked_at import message
from tests.analysis.worlds import account, binding, clusters, namespace, role, rule, world
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.slow

ALL = role("cluster-admin", rule("*", "*", groups="*"), labels={"kubernetes.io/bootstrapping": "rbac-defaults"})
EVERYONE = binding("everyone", "cluster-admin", "group:system:authenticated", namespace="ops")
SANDBOX = world(
    ALL,
    *(namespace("ops"), account("ops", "admin"), account("dev", "app"), pod("ops", "web", "admin")),
    binding("ops-admin", "cluster-admin", "sa:ops/admin"),
    EVERYONE,
)


def cause_of(snapshot: MemorySnapshot, name: str) -> Cause:
    """The cause of an object's name."""
    return next(one for one in causes(snapshot) if one.key.name == name)


def labelled(obj: dict[str, Any], **labels: str) -> dict[str, Any]:
    return {
        **obj,
        "metadata": {**obj["metadata"], "labels": {name.replace("_", "/"): one for name, one in labels.items()}},
    }


@settings(max_examples=25, deadline=None)
@given(clusters())
def test_each_path_and_each_finding_has_one_cause(snapshot: MemorySnapshot) -> None:
    """The grouping loses nothing and counts nothing twice."""
    made = causes(snapshot)
    findings = [id(finding.message) or finding for one in made for finding in one.findings]
    assert len(findings) == len(audit(snapshot))
    grouped = [path for one in made for path in one.paths]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == {path for path in escalations(snapshot) if path.grants}
    assert len({one.key for one in made}) == len(made)


def test_everybody_with_a_login_is_the_first_cause() -> None:
    """A binding to all who have a login carries the paths of all of them, to each goal."""
    first = causes(SANDBOX)[0]
    assert (first.key.name, first.kind, first.nature.name) == ("everyone", "binding", "mistake")
    assert {path.subject for path in first.paths} >= {"group:system:authenticated", "sa:dev/app"}
    assert first.goals["cluster-admin"] == first.goals["all secrets"] == len(first.subjects)
    assert first.reaches > 3
    row = causes(SANDBOX).to_frame().iloc[0]
    assert (row["paths"], row["command"]) == (len(first.paths), "kubectl delete rolebindings everyone --namespace ops")


def test_a_role_that_several_bindings_give_is_one_cause() -> None:
    """The role has to change: a repair binding by binding would be undone by the next binding."""
    made = causes(
        world(
            *(namespace("a"), namespace("b"), role("reader", rule("get,list", "secrets"))),
            *(binding("x", "reader", "user:ann", namespace="a"), binding("y", "reader", "user:bob", namespace="b")),
        )
    )
    [reader] = [one for one in made if one.key.name == "reader"]
    assert reader.kind == "role rule"
    assert set(reader.subjects) == {"user:ann", "user:bob"}
    assert [change.obj["rules"] for change in reader.remedy.changes if change.obj] == [
        [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]
    ]


@pytest.mark.parametrize(
    ("objects", "nature"),
    [
        ([binding("b", "wide", "group:devs")], "mistake"),
        ([binding("b", "wide", "sa:team/app")], "mistake"),
        ([binding("b", "wide", "sa:team/idle")], "unused"),
        ([binding("b", "cluster-admin", "group:owners")], "administrators"),
        ([binding("b", "wide", "group:system:serviceaccounts:team")], "mistake"),
        ([binding("b", "wide", "sa:team/gone")], "mistake"),
        ([labelled(binding("b", "wide", "sa:team/app"), **{"app.kubernetes.io_part-of": "shop"})], "product"),
        ([binding("argocd-server", "wide", "sa:argocd/argocd-server")], "product"),
        ([binding("argocd-server", "wide", "sa:argocd/argocd-server", "group:devs")], "mistake"),
    ],
)
def test_mistakes_are_told_from_needs(objects: list[dict[str, Any]], nature: str) -> None:
    """By who is bound, what runs, and what names itself as part of an installed product."""
    snapshot = world(
        *(ALL, namespace("team"), namespace("argocd"), account("team", "app"), account("team", "idle")),
        *(account("argocd", "argocd-server"), pod("team", "app-0", "app"), pod("argocd", "s", "argocd-server")),
        role("wide", rule("*", "secrets")),
        *objects,
    )
    assert cause_of(snapshot, objects[0]["metadata"]["name"]).nature.name == nature


def test_no_advice_deletes_what_a_product_lives_by() -> None:
    """Neither a cause's remedy nor a finding says so, and both say whose it is."""
    snapshot = world(
        *(ALL, namespace("velero"), account("velero", "velero"), pod("velero", "v-0", "velero")),
        binding("velero", "cluster-admin", "sa:velero/velero"),
    )
    made = cause_of(snapshot, "velero")
    assert not made.remedy
    assert "velero needs it" in made.remedy.text
    [finding] = [one for one in audit(snapshot).findings if one.check == "cluster-admin"]
    assert finding.command == ""
    assert finding.fix.startswith("velero needs this binding")
    for name, one in products().items():
        assert one.bindings, name
        assert one.subjects, name


def test_a_remedy_does_what_it_says_and_can_be_taken_back() -> None:
    """Its effect is that of the change, by what-if; its way back restores the object."""
    remedy = causes(SANDBOX)[0].remedy
    assert list(remedy.effect["subject"]) == ["group:system:authenticated"]
    assert len(compare(SANDBOX, remedy.after(), each="permission")) == len(remedy.effect)
    assert not [one for one in causes(remedy.after()) if one.key.name == "everyone"]
    [back] = remedy.way_back()
    assert back.startswith("kubectl apply -f - <<< ")
    assert '"name":"system:authenticated"' in back
    assert remedy.diff().startswith("--- a/rolebindings/ops/everyone.yaml\n+++ /dev/null\n")
    assert "risk:" in str(remedy)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small())
def test_after_its_remedy_nobody_who_was_taken_out_begins_with_a_cause(snapshot: MemorySnapshot) -> None:
    """Each first step that they had by it is closed, and not only that of the best path.

    A remedy may leave subjects whose paths have another way, since taking them out closes nothing.
    """
    for one in causes(snapshot):
        if one.paths and one.remedy:
            taken = set(one.remedy.effect["subject"])
            left = [path for other in causes(one.remedy.after()) if other.key == one.key for path in other.paths]
            assert not taken & {path.subject for path in left}


def test_accounts_that_are_named_beside_their_group_leave_too() -> None:
    """The best path of an account begins by its group; its own entry would give the same path."""
    snapshot = world(
        *(ALL, fenced("ops"), account("ops", "admin"), account("dev", "app")),
        binding("ops-admin", "cluster-admin", "sa:ops/admin"),
        *(role("all-tokens", rule("*", "serviceaccounts/token")), role("viewer", rule("get", "pods"))),
        binding("tokens", "all-tokens", "group:system:authenticated", "sa:dev/app"),
        binding("views", "viewer", "sa:dev/app"),
    )
    assert not escalations(cause_of(snapshot, "tokens").remedy.after(), "sa:dev/app")


def test_a_role_loses_all_that_leads_on() -> None:
    """Where a role gives several ways to the same goal, its remedy takes all of them, and leaves the rest."""
    snapshot = world(
        *(ALL, namespace("ops"), account("ops", "admin"), pod("ops", "web", "admin")),
        binding("ops-admin", "cluster-admin", "sa:ops/admin"),
        role("portal", rule("impersonate", "users,groups,serviceaccounts"), rule("get", "pods")),
        binding("portal", "portal", "user:ann"),
    )
    remedy = cause_of(snapshot, "portal").remedy
    [change] = remedy.changes
    assert change.obj is not None
    left = {one for each in change.obj["rules"] for one in each["resources"]}
    assert left == {"users", "pods"}  # no user has more than ann
    assert not escalations(remedy.after(), "user:ann")


def test_labels_and_missing_objects_are_causes() -> None:
    """A namespace that lets privileged pods in, and one without network policies, each with what would mend it."""
    snapshot = world(
        *(namespace("dev"), fenced("ops"), account("dev", "app"), pod("dev", "web", "app")),
        role("runner", rule("create", "pods")),
        *(
            binding("runs", "runner", "user:ann", namespace="dev"),
            binding("runs", "runner", "user:ann", namespace="ops"),
        ),
    )
    kinds = {one.kind: one for one in causes(snapshot)}
    label, missing = kinds["label"], kinds["missing object"]
    assert label.remedy.commands() == [
        "kubectl label namespaces dev pod-security.kubernetes.io/enforce=baseline --overwrite"
    ]
    assert label.remedy.way_back() == ["kubectl label namespaces dev pod-security.kubernetes.io/enforce- --overwrite"]
    assert label.through > 0
    assert "no running pod of dev" in label.remedy.risk
    assert (missing.key.namespace, missing.remedy.changes[0].obj["kind"]) == ("dev", "NetworkPolicy")  # type: ignore[index]


def test_a_cluster_method_and_pictures() -> None:
    """The same answer from a cluster; a bar for each cause."""
    made = causes(world(*scene(rule("get", "nodes/proxy"), place="")))
    assert ATTACKER in made[0].subjects
    axes = made.plot()
    assert "root cause" in message(axes)
    assert made.to_dict()["result"] == "Causes"
    assert message(causes(world()).plot()) == "No root cause was found"


@needs_shared
def test_the_first_cause_of_a_real_cluster() -> None:
    """In a dump of 25 products and a company most paths begin with one binding, and it stands first."""
    made = causes(load(SHARED / "datasets" / "operators-and-teams.json.gz").snapshot())
    first = made[0]
    assert first.key.name == "everyone-admin"
    assert first.goals["cluster-admin"] == 220
    assert {one.nature.name for one in made} == {"mistake", "unused", "administrators", "product", "server"}
