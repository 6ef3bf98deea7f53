"""No new access: what a change allows to anybody, with counterexamples that the server confirms."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.analysis import ProofAnswer, no_new_access
from simkit.analysis.prove import NotReproduced, permission
from simkit.analysis.prove.permission import AccessCounterexample
from simkit.seams.authorization import Authorization, stated
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import binding, role, rule

READER = role("reader", rule("get", "secrets"))


def asked(before: list[dict[str, Any]], after: list[dict[str, Any]], *modes: str) -> ProofAnswer:
    """The answer for two lists of objects."""
    sides = (MemorySnapshot(some, captured=["*"], authorization=stated(modes or ["RBAC"])) for some in (before, after))
    return no_new_access(*sides)


def test_another_binding_for_the_same_access_is_not_new() -> None:
    """What counts is access: a wider grant of an implied group covers a user's own."""
    wide = binding("all", "reader", "group:system:authenticated")
    answer = asked([READER, wide], [READER, wide, binding("own", "reader", "user:ann", namespace="dev")])
    assert answer.verdict == "PASS"
    assert "ClusterRoleBinding all" in answer.why
    assert list(answer.to_frame()["before"]) == [("ClusterRoleBinding all",)]


@pytest.mark.parametrize(
    ("held", "given", "verdict"),
    [
        ("group:system:serviceaccounts", "group:system:serviceaccounts:dev", "PASS"),
        ("group:system:serviceaccounts:dev", "sa:dev/robot", "PASS"),
        ("group:system:serviceaccounts:dev", "user:system:serviceaccount:dev:robot", "PASS"),
        ("group:system:serviceaccounts:dev", "group:system:serviceaccounts", "FAIL"),
        ("group:system:authenticated", "group:system:nodes", "PASS"),
        ("group:system:authenticated", "group:system:unauthenticated", "FAIL"),
        ("user:system:anonymous", "group:system:unauthenticated", "PASS"),
        ("group:system:unauthenticated", "user:system:anonymous", "PASS"),
        ("user:ann", "group:devs", "FAIL"),
        ("group:devs", "user:ann", "FAIL"),
        ("user:ann", "group:system:masters", "PASS"),
    ],
)
def test_implied_groups_count(held: str, given: str, verdict: str) -> None:
    """Identities have what the server adds, and nothing besides that a provider might leave out."""
    before = [READER, binding("held", "reader", held)]
    assert asked(before, [*before, binding("given", "reader", given)]).verdict == verdict


@pytest.mark.parametrize(
    ("held", "given", "verdict"),
    [
        (rule("get,list", "*", groups="*"), rule("*", "*", groups="*"), "FAIL"),
        (rule("get", "*/scale", groups="apps"), rule("get", "deployments/scale", groups="apps"), "PASS"),
        (rule("get", "pods,pods/log"), rule("get", "pods/*"), "FAIL"),
        (rule("get", "secrets", names="a"), rule("get", "secrets", names="a,b"), "FAIL"),
        (rule("get", urls="/healthz*"), rule("get", urls="/healthz/*"), "PASS"),
        (rule("get", urls="/healthz/a,/healthz/b"), rule("get", urls="/healthz/*"), "FAIL"),
    ],
)
def test_a_role_that_changes_is_compared_for_whom_it_is_bound_to(
    held: dict[str, Any], given: dict[str, Any], verdict: str
) -> None:
    """Verbs and resources that nobody names, subresources, names and paths."""
    bound = binding("b", "r", "user:ann")
    answer = asked([role("r", held), bound], [role("r", held, given), bound])
    assert answer.verdict == verdict


def test_paths_in_a_namespace_are_no_access() -> None:
    """Rules about paths are dead in a RoleBinding."""
    metrics = role("metrics", rule("get", urls="/metrics"))
    assert asked([metrics], [metrics, binding("b", "metrics", "user:ann", namespace="dev")]).passed


def test_aggregated_roles_count_as_their_controller_fills_them() -> None:
    """A new part adds its rules to the whole, although the dump does not show it yet; it is executed so, too."""
    whole = {**role("whole"), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "whole"}}]}}
    part = role("part", rule("get", "secrets"), labels={"to": "whole"})
    before = [whole, binding("b", "whole", "user:ann")]
    assert asked(before, [*before, part]).verdict == "FAIL"
    options: dict[str, Any] = {"captured": ["*"], "authorization_mode": ["RBAC"]}
    answer = simkit.load([*before, part], **options).no_new_access(before=simkit.load(before, **options))
    assert [each.executed for each in answer.counterexamples] == [True]


def test_a_trial_knows_what_to_compare_with() -> None:
    """The counterexample is a request of somebody whom no binding names, executed on forks of both sides."""
    cluster = simkit.Cluster(seed=1)
    with cluster.what_if() as trial:
        trial.apply(binding("all", "cluster-admin", "group:devs"))
    answer = trial.no_new_access()
    assert answer.verdict == "FAIL"
    (example,) = answer.counterexamples
    assert isinstance(example, AccessCounterexample)
    assert (example.subject, example.identity.groups) == ("group:devs", ("devs", "system:authenticated"))
    assert example.executed
    assert not answer
    assert answer.to_dict()["summary"][0]["verdict"] == "FAIL"
    assert "<details>" in answer._repr_html_()


def test_what_the_server_does_not_confirm_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It raises an error that is ours."""
    monkeypatch.setattr(permission, "may", lambda *_: False)
    cluster = simkit.Cluster(seed=1)
    with cluster.what_if() as trial:
        trial.apply(binding("all", "cluster-admin", "group:devs"))
    with pytest.raises(NotReproduced):
        trial.no_new_access()


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (["Webhook", "RBAC"], ["Webhook", "RBAC"], "Webhook"),
        (["RBAC"], ["Node", "RBAC"], "authorizers differ"),
        (["AlwaysAllow"], ["AlwaysAllow"], "RBAC is not among the authorizers"),
        (["AlwaysAllow", "RBAC"], ["AlwaysAllow", "RBAC"], "allows everything"),
    ],
)
def test_authorizers_that_cannot_be_seen_leave_it_unknown(before: list[str], after: list[str], what: str) -> None:
    """Never PASS for what was not decided."""
    sides = (MemorySnapshot([READER], captured=["*"], authorization=stated(modes)) for modes in (before, after))
    answer = no_new_access(*sides)
    assert answer.verdict == "UNKNOWN"
    assert what in answer.why


def test_what_a_policy_file_allowed_before_is_not_new() -> None:
    """The authorizers besides RBAC are asked, too; what they may have allowed as a whole stays unknown."""
    line = '{"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": {"user": "ann", %s}}'
    everything = (line % '"resource": "*", "namespace": "*", "apiGroup": "*"').encode()
    one = (line % '"resource": "pods", "namespace": "dev", "apiGroup": "*"').encode()
    after = [READER, binding("b", "reader", "user:ann")]
    for policies, verdict in ((everything, "UNKNOWN"), (one, "FAIL")):
        authorization = Authorization(("ABAC", "RBAC"), "flags", policies)
        sides = (MemorySnapshot(some, captured=["*"], authorization=authorization) for some in ([READER], after))
        assert no_new_access(*sides).verdict == verdict


def test_pods_that_moved_leave_nodes_unknown() -> None:
    """The Node authorizer lets a kubelet read what its pods need."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "dev"}}
    moved = [{**pod, "spec": {"nodeName": node, "containers": []}} for node in ("n1", "n2")]
    assert asked([READER, moved[0]], [READER, moved[0]], "Node", "RBAC").verdict == "PASS"
    answer = asked([READER, moved[0]], [READER, moved[1]], "Node", "RBAC")
    assert answer.verdict == "UNKNOWN"
    assert "pods" in answer.why


def test_within_hops_follows_escalation() -> None:
    """A pod with a strong service account grants nothing, but lets those who may exec into it take its token."""
    cluster = simkit.Cluster(seed=1)
    cluster.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "strong", "namespace": "default"}}
    )
    cluster.apply([role("exec", rule("get,list", "pods"), rule("get,create", "pods/exec"))])
    cluster.apply([binding("exec", "exec", "group:devs"), binding("s", "cluster-admin", "sa:default/strong")])
    with cluster.what_if() as trial:
        pod = {"serviceAccountName": "strong", "containers": [{"name": "c", "image": "i"}]}
        trial.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": pod})
    assert trial.no_new_access().verdict == "PASS"
    answer = trial.no_new_access(within_hops=3)
    assert answer.verdict == "FAIL"
    assert "group:devs" in {each.subject for each in answer.counterexamples}
