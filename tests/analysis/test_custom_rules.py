"""Checks of one's own in the expression language, and the bindings that managed clusters bring along."""

from __future__ import annotations

from pathlib import Path

import pytest

from simkit.analysis.findings import audit
from simkit.analysis.findings.custom import CustomRule, check_of, read_rules
from simkit.analysis.findings.suppress import read_suppressions
from simkit.analysis.findings.survey import managed_bindings, providers
from simkit.cli import main
from simkit.meta.errors import SimkitError
from tests.analysis.worlds import binding, role, rule, world

WORLD = world(
    role("all", rule("*", "*", groups="*")),
    role("read", rule("get", "pods"), rule("get", urls="/metrics")),
    binding("admins", "all", "user:ann", "group:ops"),
    binding("readers", "read", "sa:ci/app", namespace="payments"),
    binding("nobody", "gone", namespace="payments"),
)


def messages(**rule: str) -> list[str]:
    """The messages of one rule."""
    check = check_of(CustomRule.model_validate({"id": "mine", "title": "Mine", **rule}))
    return [finding.message for finding in audit(WORLD, checks=["mine"], rules=[check]).findings]


@pytest.mark.parametrize(
    ("each", "when", "found"),
    [
        ("grant", "subject.kind == 'User'", ["ClusterRoleBinding admins grants ClusterRole all to user:ann."]),
        ("grant", "binding.namespace == 'payments' && subject.text.startsWith('sa:')", ["RoleBinding payments/readers grants ClusterRole read to sa:ci/app."]),
        ("binding", "!role.exists || size(subjects) == 0", ["RoleBinding payments/nobody grants ClusterRole gone to nobody."]),
        ("binding", "subjects.exists(s, s.name == 'ops')", ["ClusterRoleBinding admins grants ClusterRole all to user:ann, group:ops."]),
        ("rule", "'/metrics' in rule.nonResourceURLs && index == 1", ["RoleBinding payments/readers grants rule 1 of ClusterRole read to sa:ci/app."]),
        ("rule", "rule.verbs.exists(v, v == '*')", ["ClusterRoleBinding admins grants rule 0 of ClusterRole all to user:ann.", "ClusterRoleBinding admins grants rule 0 of ClusterRole all to group:ops."]),
        ("grant", "false", []),
    ],
)  # fmt: skip
def test_variables_of_expressions(each: str, when: str, found: list[str]) -> None:
    """Bindings, grants and rules, with all that a rule may want to know of them."""
    assert messages(each=each, when=when) == found


def test_messages_are_expressions() -> None:
    """A message is put together of what was found."""
    told = messages(when="subject.kind == 'User'", message="subject.name + ' in ' + role.name", severity="low")
    assert told == ["ann in all"]


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ({"when": "subject.kind =="}, "rule 'mine', when: .*Syntax error"),
        ({"when": "nothing.at.all"}, "undeclared reference"),
        ({"when": "'text'"}, "'mine'"),
        ({"when": "subject.missing == 1"}, "no such key: missing"),
        ({"when": "true", "message": "1"}, "'mine'"),
    ],
)
def test_wrong_expressions_name_the_rule(rule: dict[str, str], fault: str) -> None:
    """An expression that does not compile, or fails, is reported with its rule."""
    with pytest.raises(SimkitError, match=fault):
        messages(**rule)


def test_a_file_of_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command reads it; findings count as any other, may be suppressed, and stand in reports."""
    path, dump, accepted = tmp_path / "rules.yaml", tmp_path / "dump.yaml", tmp_path / "accepted.yaml"
    path.write_text(
        "rules:\n- {id: no-people, title: No people, severity: critical, when: subject.kind == 'User', why: because}\n"
    )
    dump.write_text(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: dev}, roleRef:"
        " {kind: ClusterRole, name: view, apiGroup: rbac.authorization.k8s.io}, subjects: [{kind: User, name: ann}]}"
    )
    words = ["audit", str(dump), "--manifests", "--rules", str(path), "--check", "no-people"]
    assert main(words) == 1
    assert "no-people" in capsys.readouterr().out
    assert main([*words, "-o", "sarif"]) == 1
    assert '"id": "no-people"' in capsys.readouterr().out
    accepted.write_text("suppressions:\n- {check: no-people, reason: known}\n")
    assert main([*words, "--suppress", str(accepted)]) == 0
    with pytest.raises(SimkitError, match="no check 'no-people'"):
        read_suppressions(accepted)
    for text, fault in (("rules: []", "at least 1"), ("rules: {", "is not YAML"), ("rules: [{id: a}]", "title")):
        path.write_text(text)
        with pytest.raises(SimkitError, match=fault):
            read_rules(path)


MANAGED = [
    binding("eks:addon-manager", "all", "user:eks:addon-manager"),
    binding("eks:node-manager", "all", "user:eks:node-manager"),
    binding("aws-node", "all", "sa:kube-system/aws-node"),
    binding("eks:trap", "all", "user:mallory"),
    binding("eks:everybody", "all", "group:system:authenticated"),
]


def test_bindings_of_providers_are_set_aside() -> None:
    """By name and subject both, never those of everybody, and on request only."""
    snapshot = world(role("all", rule("*", "*", groups="*")), *MANAGED)
    set_aside = {key.name for key in managed_bindings(snapshot, ["eks"])}
    assert set_aside == {"eks:addon-manager", "eks:node-manager", "aws-node"}
    assert managed_bindings(snapshot, "auto") == managed_bindings(snapshot, ["eks"])
    assert managed_bindings(world(*MANAGED[:1]), ["auto"]) == frozenset()
    everything = audit(snapshot, checks=["cluster-admin"])
    quiet = audit(snapshot, checks=["cluster-admin"], managed=["auto"])
    assert (len(everything.findings), everything.set_aside) == (5, 0)
    assert {finding.binding.name for finding in quiet.findings if finding.binding} == {"eks:trap", "eks:everybody"}
    assert quiet.set_aside == 3
    with pytest.raises(SimkitError, match="no provider 'aws'"):
        managed_bindings(snapshot, ["aws"])
    assert set(providers()) == {"eks", "gke", "aks", "openshift"}
