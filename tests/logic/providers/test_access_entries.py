"""What EKS access entries grant: policy by policy by the published table, and random worlds beside a naive model."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

import simkit
from simkit.analysis.access.can import can
from simkit.analysis.access.who_can import holders_of
from simkit.logic.providers.access_entries import fits
from simkit.meta.errors import UnknownSubject
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.snapshot.cloud.eks import EksExport, access_policies
from simkit.snapshot.cloud.exports import read_export, with_cloud
from simkit.snapshot.cloud.output import matches
from simkit.snapshot.load import load
from simkit.snapshot.report import Report
from tests.logic.providers.naive_eks import NAMESPACES, POLICIES, QUESTIONS, allowed, arn, policy_holders, world

ROLE = "arn:aws:iam::111122223333:role/ops"
SESSION = "arn:aws:sts::111122223333:assumed-role/ops/{{SessionName}}"


def export(*policies: tuple[str, list[str]], user: str = SESSION, groups: tuple[str, ...] = ()) -> list[Any]:
    """A complete export with one access entry."""
    associated = [
        {
            "policyArn": f"arn:aws:eks::aws:cluster-access-policy/{name}",
            "accessScope": {"type": "namespace" if scope else "cluster", "namespaces": scope},
        }
        for name, scope in policies
    ]
    return [
        {"cluster": {"name": "c", "accessConfig": {"authenticationMode": "API"}}},
        {"accessEntries": [ROLE]},
        {"accessEntry": {"principalArn": ROLE, "username": user, "kubernetesGroups": list(groups)}},
        {"principalArn": ROLE, "clusterName": "c", "associatedAccessPolicies": associated},
    ]


def dump(outputs: Any, *objects: Any) -> simkit.Cluster:
    """A cluster with these objects and an export."""
    return simkit.load(objects or [{"apiVersion": "v1", "kind": "List", "items": []}], captured=["*"], cloud=outputs)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_who_can_answers_each_row_of_the_published_table(policy: str) -> None:
    """Each verb on each resource of a policy has the principal among those who can, and by this policy."""
    cluster = dump(export((policy, [])))
    snapshot, table = cluster.snapshot(), access_policies()[policy]
    for rule in table:
        for verb, path in itertools.product(rule["verbs"], rule.get("nonResourceURLs", ())):
            verb, path = verb.replace("*", "get"), path.replace("*", "/version")
            assert can(snapshot, f"aws:{ROLE}", verb, url=path).allowed
        for verb, group, resource in itertools.product(
            rule["verbs"], rule.get("apiGroups", ()), rule.get("resources", ())
        ):
            if group == "extensions":
                continue  # which release 1.30 does not serve any more
            verb, group = verb.replace("*", "get"), "" if group == "*" else group
            resource = "pods" if resource == "*" else resource
            found = cluster.who_can(verb, resource, api_group=group)
            assert f"aws:{ROLE}" in set(found["subject"]), (policy, verb, group, resource)
            assert f"{ROLE} ({policy})" in set(found["binding"])


def test_who_can_names_whom_the_naive_model_names() -> None:
    """Fifty seeds: the principals with an access policy for it, in the cluster and in namespaces that match."""
    found_any = 0
    for seed in range(200, 250):
        outputs, objects, mode = world(seed)
        snapshot = with_cloud(load(objects, captured=["*"], authorization_mode=["RBAC"]), outputs).snapshot()
        for asked, namespace in itertools.product(QUESTIONS, ("*", *NAMESPACES)):
            verb, group, resource, name = asked
            if resource in ("nodes", "clusterroles") and namespace != "*":
                continue
            rows = holders_of(snapshot, verb, resource, name=name, namespace=namespace, api_group=group).rows()
            found = {row[0].removeprefix("aws:") for row in rows if row[3] == "EKS access entry"}
            assert found == policy_holders(outputs, mode, asked, namespace.replace("*", "")), (seed, asked, namespace)
            found_any += bool(found)
    assert found_any > 300


def test_a_policy_grants_nothing_that_its_table_does_not_have() -> None:
    """The view policy reads no secrets, the edit policy binds no roles, and the admin policy writes no nodes."""
    for policy, verb, resource in (
        ("AmazonEKSViewPolicy", "get", "secrets"),
        ("AmazonEKSEditPolicy", "create", "rolebindings"),
        ("AmazonEKSAdminPolicy", "update", "nodes"),
        ("AmazonEKSAdminPolicy", "bind", "clusterroles"),
        ("AmazonEKSAdminViewPolicy", "create", "pods"),
        ("AmazonEKSHybridPolicy", "get", "nodes"),
    ):
        assert not can(dump(export((policy, []))).snapshot(), f"aws:{ROLE}", verb, resource), policy


@pytest.mark.filterwarnings("ignore:EKS maps aws")
@pytest.mark.parametrize("part", range(4))
def test_random_worlds_are_answered_as_by_the_naive_model(part: int) -> None:
    """Fifty seeds each: modes, entries, scopes with wildcards, aws-auth and bindings beside a model from the guide."""
    for seed in range(part, 200, 4):
        outputs, objects, mode = world(seed)
        read = with_cloud(load(objects, captured=["*"], authorization_mode=["RBAC"]), outputs)
        snapshot = read.snapshot()
        for number, asked, namespace in itertools.product(range(8), QUESTIONS, ("", *NAMESPACES[:3])):
            verb, group, resource, name = asked
            if resource in ("nodes", "clusterroles") and namespace:
                continue
            wanted = allowed(outputs, objects, mode, arn(number), asked, namespace)
            found = can(
                snapshot, f"aws:{arn(number)}", verb, resource, name=name, namespace=namespace or "*", api_group=group
            )
            assert found.allowed == wanted, (seed, mode, arn(number), asked, namespace)


def test_the_engine_the_index_and_a_fork_agree() -> None:
    """A session of a role is allowed by its policy, in namespaces that come later and match a wildcard, too."""
    cluster = dump(
        export(("AmazonEKSEditPolicy", ["dev-*"])),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dev-a"}},
    )
    ann = Identity(SESSION.replace("{{SessionName}}", "ann"), ("system:authenticated",))
    assert can(cluster.snapshot(), ann, "create", "pods", namespace="dev-a")
    trial = cluster.fork()
    trial.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dev-b"}})
    trial.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})
    for namespace, wanted in (("dev-a", 201), ("dev-b", 201), ("prod", 403)):
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
        answer = trial.perform(Request.of("POST", path, made), identity=ann)
        assert answer.status == wanted, (namespace, answer)
        assert (f"aws:{ROLE}" in set(trial.who_can("create", "pods", namespace=namespace)["subject"])) == (
            wanted == 201
        )


def test_the_escalation_check_does_not_count_access_policies() -> None:
    """AmazonEKSAdminPolicy may write RoleBindings, but binds no role by it: aws/containers-roadmap issue 2682."""
    view: dict[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "v"},
    }
    view["rules"] = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    cluster = dump(export(("AmazonEKSAdminPolicy", ["a"])), view, space)
    ann = Identity(SESSION.replace("{{SessionName}}", "ann"), ("system:authenticated",))
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "v"},
        "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "g"}],
    }
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings"
    answer = cluster.perform(Request.of("POST", path, binding), identity=ann)
    assert answer.status == 403
    assert "not currently held" in str(answer.body)


def test_groups_of_an_entry_count_for_the_principal_and_for_the_group() -> None:
    """An entry's groups bring what bindings grant them, and the principal is listed as their member."""
    role: dict[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "v"},
    }
    role["rules"] = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"kind": "ClusterRole", "name": "v"},
        "subjects": [{"kind": "Group", "name": "oncall"}],
    }
    cluster = dump(export(groups=("oncall",)), role, binding)
    assert cluster.can(f"aws:{ROLE}", "get", "pods")
    found = cluster.who_can("get", "pods", expand_groups=True)
    assert f"aws:{ROLE}" in set(found[found["via_group"] == "group:oncall"]["subject"])


def test_a_policy_without_published_rules_makes_every_answer_a_lower_bound() -> None:
    """AmazonEKSAutoNodePolicy is described in words only: no answer says no without telling so."""
    cluster = dump(export(("AmazonEKSAutoNodePolicy", [])))
    answer = cluster.can(f"aws:{ROLE}", "get", "nodes")
    assert not answer
    told = " ".join(caveat.text for caveat in answer.caveats)
    assert "AmazonEKSAutoNodePolicy of aws:" in told
    assert "is not known" in told
    assert any("AmazonEKSAutoNodePolicy" in text for text in cluster.who_can("get", "nodes").attrs["caveats"])


def test_remedies_name_the_command_of_the_provider() -> None:
    """What an access entry grants is taken away by the AWS CLI; no kubectl command and no cut claims to do it."""
    cluster = dump(export(("AmazonEKSAdminViewPolicy", [])))
    (cause,) = [one for one in cluster.causes() if "EKS access entry" in str(one)]
    assert f"aws eks disassociate-access-policy --cluster-name c --principal-arn {ROLE}" in cause.remedy.text
    assert not cause.remedy.commands()
    assert not any("access entry" in str(one) for one in cluster.cut("all secrets").changes)
    refused = cluster.can(f"aws:{ROLE}", "delete", "pods")
    (remedy,) = refused.remedies
    assert not remedy.objects
    assert "aws eks update-access-entry" in remedy.text


def test_a_principal_is_read_and_written_as_one_text() -> None:
    """``aws:`` stands before the ARN of a role or user; anything else is refused."""
    from simkit.analysis.rbac.subject import parse_subject, text_of

    assert text_of(parse_subject(f"aws:{ROLE}")) == f"aws:{ROLE}"
    assert parse_subject(f"user:{ROLE}") != parse_subject(f"aws:{ROLE}")
    with pytest.raises(simkit.SimkitError, match="no role or user of IAM"):
        parse_subject("aws:arn:aws:sts::111122223333:assumed-role/x/y")


def test_a_principal_that_eks_does_not_map_is_told() -> None:
    """Without an access entry, or without an export, a no would claim too much."""
    known, other = f"aws:{ROLE}", "aws:arn:aws:iam::111122223333:role/other"
    with pytest.warns(UnknownSubject, match="to no user of the cluster"):
        assert not dump(export()).can(other, "get", "pods")
    assert not dump(export()).can(known, "get", "pods")
    with pytest.warns(UnknownSubject, match="add the export of EKS"):
        assert not simkit.load([_irsa(annotated=False)], captured=["*"]).can(known, "get", "pods")


def test_the_export_is_read_in_any_order_and_shape() -> None:
    """One output per file, several in a row, and lists of outputs are the same export."""
    import json

    outputs = export(("AmazonEKSViewPolicy", ["a"]))
    row = "\n".join(json.dumps(one, indent=2) for one in reversed(outputs))
    for source in (outputs, [outputs], json.dumps(outputs), row, [json.dumps(one) for one in outputs]):
        found = read_export(source, Report())
        assert isinstance(found, EksExport)
        assert list(found.missing("API")) == []
        assert found.policies[ROLE][0].namespaces == ("a",)


def _irsa(annotated: bool) -> list[Any]:
    """A pod whose service account has a role, and a user who can run commands in it."""
    annotations = {"eks.amazonaws.com/role-arn": ROLE} if annotated else {}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    rules = [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods/exec"]}]
    account = {"name": "deploy", "namespace": "ci", "annotations": annotations}
    subject = {"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "Role", "name": "exec", "apiGroup": "rbac.authorization.k8s.io"}
    spec = {"serviceAccountName": "deploy", "automountServiceAccountToken": False}
    spec |= {"containers": [{"name": "c", "image": "i"}]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ci"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ci"}, "spec": spec},
        {**rbac, "kind": "Role", "metadata": {"name": "exec", "namespace": "ci"}, "rules": rules},
        {**rbac, "kind": "RoleBinding", "metadata": {"name": "exec", "namespace": "ci"}}
        | {"roleRef": reference, "subjects": [subject]},
    ]


@pytest.mark.parametrize("how", ["annotation", "association", "neither"])
def test_a_pod_leads_to_the_principal_of_its_service_account(how: str) -> None:
    """By the annotation of IRSA or by Pod Identity; the proof names what it assumes of AWS."""
    outputs = export(("AmazonEKSClusterAdminPolicy", []))
    if how == "association":
        found = {"associationId": "a-1", "namespace": "ci", "serviceAccount": "deploy", "roleArn": ROLE}
        outputs += [{"associations": [{"associationId": "a-1"}]}, {"association": found}]
    cluster = simkit.load(_irsa(annotated=how == "annotation"), manifests=True, cloud=outputs)
    paths = cluster.escalations("user:ann", goal="cluster-admin")
    if how == "neither":
        assert not paths
        return
    (path,) = paths
    assert path.primitives[-2:] == ("K19", "A1")
    (proof,) = paths.prove()
    assert proof.verdict.startswith("proven"), proof
    assert "trust policy" in str(proof.to_dict())


def test_a_service_account_with_the_role_of_an_administrator_is_a_finding() -> None:
    """By an access policy, and by a group of administrators; not by a policy in one namespace."""
    for outputs, wanted in (
        (export(("AmazonEKSClusterAdminPolicy", [])), 1),
        (export(groups=("system:masters",)), 1),
        (export(("AmazonEKSClusterAdminPolicy", ["ci"])), 0),
    ):
        cluster = dump(outputs, *_irsa(annotated=True))
        found = cluster.findings(checks=["cloud-admin"])
        assert len(found) == wanted
        assert set(found["subjects"]) == ({("sa:ci/deploy",)} if wanted else set())


def test_wildcards_without_end_cost_no_time() -> None:
    """A scope of hundreds of wildcards is matched letter by letter."""
    assert not matches("a*" * 300 + "c", "a" * 250)
    assert matches("a*" * 100, "a" * 250)
    for pattern, text in itertools.product(("a*b", "*", "**", "a*", "*b*", "ab"), ("", "a", "ab", "aab", "ba", "b")):
        assert matches(pattern, text) == bool(re.fullmatch(pattern.replace("*", ".*"), text)), (pattern, text)


def test_the_number_of_the_account_is_filled_in() -> None:
    """``{{AccountID}}`` is the same in every session of a principal."""
    cluster = dump(export(("AmazonEKSViewPolicy", []), user="ops-{{AccountID}}"))
    ops = Identity("ops-111122223333", ("system:authenticated",))
    assert can(cluster.snapshot(), ops, "get", "pods")
    assert not can(cluster.snapshot(), Identity("ops-1", ("system:authenticated",)), "get", "pods")


def test_no_finding_deletes_an_access_entry_by_kubectl() -> None:
    """A policy that another one covers, and one in a namespace that does not exist, name the AWS CLI command."""
    policies: tuple[tuple[str, list[str]], ...] = (
        ("AmazonEKSClusterAdminPolicy", []),
        ("AmazonEKSViewPolicy", ["gone"]),
        ("AmazonEKSEditPolicy", []),
    )
    found = dump(export(*policies), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}).findings()
    commands = [one for one in found["command"] if one]
    assert commands
    assert all(one.startswith("aws eks disassociate-access-policy") for one in commands), commands


@pytest.mark.parametrize(("mode", "paths"), [("API", 0), ("API_AND_CONFIG_MAP", 1)])
def test_aws_auth_leads_to_administrators_only_where_it_counts(mode: str, paths: int) -> None:
    """Who writes the ConfigMap maps herself to system:masters, unless the cluster does not read it."""
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    rules = [{"verbs": ["update"], "apiGroups": [""], "resources": ["configmaps"]}]
    place = {"name": "maps", "namespace": "kube-system"}
    objects = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "aws-auth", "namespace": "kube-system"}},
        {**rbac, "kind": "Role", "metadata": place, "rules": rules},
        {**rbac, "kind": "RoleBinding", "metadata": place}
        | {"roleRef": {"kind": "Role", "name": "maps"}, "subjects": [{"kind": "User", "name": "ann"}]},
    ]
    outputs = export()
    outputs[0]["cluster"]["accessConfig"]["authenticationMode"] = mode
    found = dump(outputs, *objects).escalations("user:ann", goal="cluster-admin")
    assert [path.primitives for path in found] == [("H1",)] * paths


@pytest.mark.parametrize(
    "parts", [["", ""], ["a", ""], ["", "-a"], ["", "-", ""], ["a", "/", "a"], ["", "", ""], ["-", "a-", ""]]
)
def test_names_fit_templates_as_patterns_do(parts: list[str]) -> None:
    """Every short name beside a regular expression, which would take long for long names."""
    pattern = re.compile("[^/]+".join(map(re.escape, parts)))
    for length in range(7):
        for letters in itertools.product("a-/", repeat=length):
            name = "".join(letters)
            assert fits(parts, name) == bool(pattern.fullmatch(name)), name
    assert not fits(["", "-", "x"], "-" * 200_000)
