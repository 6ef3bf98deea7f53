"""Trust policies of IAM roles: which service accounts can become a role, beside a model of single conditions."""

from __future__ import annotations

import random
from typing import Any

import pytest

import simkit
from simkit.cli import main
from simkit.snapshot.cloud.eks_trust import trust_of, trusts_account, trusts_pod_identity, wide_trust
from tests.logic.providers.test_access_entries import ROLE, _irsa, export

HOST = "oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF"
ISSUER = f"https://{HOST}"
PROVIDER = f"arn:aws:iam::111122223333:oidc-provider/{HOST}"
POD = "system:serviceaccount:ci:deploy"


def statement(**fields: Any) -> dict[str, Any]:
    """A statement that trusts the cluster's service accounts, as eksctl and Terraform write it."""
    found = {"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity", "Principal": {"Federated": PROVIDER}}
    return {**found, **fields}


def only(operator: str = "StringEquals", **claims: Any) -> dict[str, Any]:
    """A condition on claims of the token."""
    return {operator: {f"{HOST}:{name}": value for name, value in claims.items()}}


def role(*statements: Any, **fields: Any) -> dict[str, Any]:
    """The output of ``aws iam get-role``."""
    document = {"Version": "2012-10-17", "Statement": list(statements)}
    name = ROLE.rpartition("/")[2]
    return {"Role": {"Path": "/", "RoleName": name, "Arn": ROLE, "AssumeRolePolicyDocument": document, **fields}}


@pytest.mark.parametrize(
    ("statements", "trusted"),
    [
        ([statement(Condition=only(sub=POD, aud="sts.amazonaws.com"))], True),
        ([statement(Condition=only(sub=["system:serviceaccount:a:b", POD]))], True),
        ([statement(Condition=only("StringLike", sub="system:serviceaccount:*:deploy"))], True),
        ([statement(Condition=only("StringLike", sub="system:serviceaccount:ci:?eploy"))], True),
        ([statement()], True),
        ([statement(Condition=only(sub="system:serviceaccount:*:deploy"))], False),
        ([statement(Condition=only(sub=POD, aud="other"))], None),
        ([statement(Condition=only(sub="system:serviceaccount:ci:x", aud="other"))], False),
        ([statement(), statement(Effect="Deny", Condition=only(aud="other"))], True),
        ([statement(), statement(Effect="Deny", Condition=only(aud="sts.amazonaws.com"))], None),
        ([statement(Condition=only("StringLike", sub="system:serviceaccount:${aws:PrincipalTag/n}:deploy"))], None),
        ([statement(Condition=only("StringLike", sub=["${aws:PrincipalTag/n}", POD]))], True),
        ([statement(Condition=only(sub=POD), Action="sts:AssumeRole")], False),
        ([statement(Principal={"Federated": PROVIDER.replace("0123", "9999")})], False),
        ([statement(Principal={"Service": "ec2.amazonaws.com"}, Action="sts:AssumeRole")], False),
        ([statement(Condition=only(sub=POD)), statement(Effect="Deny", Condition=only(sub=POD))], False),
        ([], False),
        ([statement(Condition={**only(sub=POD), "StringNotEquals": {"aws:PrincipalTag/a": "b"}})], None),
        ([statement(Condition=only(sub=POD)), statement(Effect="Deny", Condition={"Bool": {"aws:x": "true"}})], None),
        ([statement(Condition=only("StringEqualsIfExists", sub=POD))], True),
        ([statement(Condition=only("ForAnyValue:StringLike", sub="system:serviceaccount:ci:*"))], True),
        ([statement(Condition=only("ForAllValues:StringLike", sub="system:serviceaccount:x:*"))], False),
        ([statement(Condition=only("StringNotEquals", sub=POD))], False),
        ([statement(Condition=only("StringNotLike", sub="system:serviceaccount:x:*"))], True),
        ([statement(Condition=only("StringEqualsIgnoreCase", sub=POD.upper()))], True),
        ([statement(Condition=only("StringMatches", sub=POD))], None),
        ([{**statement(), "NotPrincipal": {"AWS": "x"}}], None),
    ],
)
def test_who_a_trust_policy_names(statements: list[Any], trusted: bool | None) -> None:
    """Conditions on the claims of the token decide; others leave it open, also in what denies."""
    trust = trust_of(role(*statements)["Role"])
    assert trusts_account(trust, ISSUER, "ci", "deploy") is trusted
    assert trusts_account(trust, "", "ci", "deploy") is not True, "the issuer of the cluster is not known"


@pytest.mark.parametrize("part", range(2))
def test_random_trust_policies_are_read_as_by_a_naive_model(part: int) -> None:
    """Statements with one condition each: who is denied is not trusted, and who is allowed is."""
    seen = set()
    pods = (("ci", "deploy"), ("ci", "x"), ("dev", "deploy"))
    patterns = {"system:serviceaccount:ci:*": "ci/", POD: "ci/deploy", "*": "", "system:serviceaccount:dev:*": "dev/"}
    for seed in range(part, 200, 2):
        dice = random.Random(seed)
        chosen = [
            (dice.random() < 0.8, dice.choice(list(patterns)), dice.random() < 0.2) for _ in range(dice.randrange(4))
        ]
        statements = [
            statement(
                Effect="Allow" if allows else "Deny",
                Condition={**only("StringLike", sub=pattern), **({"Bool": {"aws:x": "true"}} if unknown else {})},
            )
            for allows, pattern, unknown in chosen
        ]
        trust = trust_of(role(*statements)["Role"])
        for namespace, name in pods:
            fitting = [
                (allows, None if unknown else True)
                for allows, pattern, unknown in chosen
                if f"{namespace}/{name}".startswith(patterns[pattern])
            ]
            denied, allowed = ([holds for one, holds in fitting if one is kind] for kind in (False, True))
            wanted: bool | None = True if True in allowed and not denied else None if allowed else False
            wanted = False if True in denied else wanted
            assert trusts_account(trust, ISSUER, namespace, name) is wanted, (seed, chosen, namespace, name)
            seen.add(wanted)
    assert seen == {True, False, None}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"Condition": only(sub=POD, aud="other")}, "(it asks for another audience than sts.amazonaws.com"),
        ({"Condition": only("StringLike", sub="${aws:PrincipalTag/n}")}, "(it has policy variables)"),
        ({"Effect": "allow"}, "could not be read (the Effect of a statement is neither Allow nor Deny)"),
    ],
)
def test_a_trust_policy_that_is_not_decided_is_told(changes: dict[str, Any], told: str) -> None:
    """With the reason; a service account that has the role in its annotation may assume it."""
    cluster = simkit.load(_irsa(annotated=True), manifests=True, cloud=described(role(statement(**changes))))
    assert told in " ".join(one.text for one in cluster.snapshot().authorization.caveats)


def test_pod_identity_needs_its_own_principal() -> None:
    """An association with a role that trusts only tokens gives nothing."""
    service = statement(Principal={"Service": "pods.eks.amazonaws.com"}, Action=["sts:AssumeRole", "sts:TagSession"])
    assert trusts_pod_identity(trust_of(role(service)["Role"])) is True
    assert trusts_pod_identity(trust_of(role(statement())["Role"])) is False


def described(*extra: Any) -> list[Any]:
    """An export with the issuer of the cluster, an administrator's entry for the role, and more outputs."""
    outputs = export(("AmazonEKSClusterAdminPolicy", []))
    cluster = next(one for one in outputs if "cluster" in one)["cluster"]
    cluster["identity"] = {"oidc": {"issuer": ISSUER}}
    return [*outputs, *extra]


@pytest.mark.parametrize(
    ("annotated", "trust", "paths"),
    [
        (True, None, 1),
        (True, only(sub=POD), 1),
        (True, only(sub="system:serviceaccount:other:deploy"), 0),
        (False, only("StringLike", sub="system:serviceaccount:ci:*"), 1),
        (False, only(sub="system:serviceaccount:other:deploy"), 0),
        (True, {"Bool": {"aws:x": "true"}}, 1),
        (False, {"Bool": {"aws:x": "true"}}, 0),
    ],
)
def test_a_path_by_a_role_needs_its_trust(annotated: bool, trust: Any, paths: int) -> None:
    """An annotation without trust leads nowhere, and trust without an annotation is enough; what is open is told."""
    outputs = described(*([] if trust is None else [role(statement(Condition=trust))]))
    cluster = simkit.load(_irsa(annotated=annotated), manifests=True, cloud=outputs)
    assert len(cluster.escalations("user:ann", goal="cluster-admin")) == paths
    told = " ".join(one.text for one in cluster.snapshot().authorization.caveats)
    assert ("whose trust policy is not decided" in told) == (trust is not None and "Bool" in trust)


def test_wide_trust_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    """Everybody with an AWS account, all service accounts, and accounts that the config map maps."""
    wide = role(
        statement(Principal="*", Action="sts:AssumeRole"),
        statement(Condition=only("StringLike", sub="system:serviceaccount:ci:*")),
        statement(Condition=only(aud="sts.amazonaws.com")),
        statement(Principal={"AWS": "*"}, Action="sts:AssumeRole", Condition={"StringEquals": {"sts:ExternalId": "x"}}),
    )
    outputs = described(wide)
    next(one for one in outputs if "cluster" in one)["cluster"]["accessConfig"] = {
        "authenticationMode": "API_AND_CONFIG_MAP"
    }
    mapped = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "aws-auth", "namespace": "kube-system"}}
    mapped["data"] = {"mapAccounts": '- "444455556666"\n- 1234\n- x\n'}  # YAML drops the zeros of numbers
    cluster = simkit.load([*_irsa(annotated=True), mapped], captured=["*"], cloud=outputs)
    told = " ".join(str(one) for one in cluster.findings(checks=["cloud-trust"])["message"])
    for words in (
        "can be assumed by everybody who has an AWS account",
        "can be assumed by every service account of the cluster",
        "every service account that fits 'system:serviceaccount:ci:*'",
        "everybody who has an AWS account if conditions on sts:externalid hold",
        "aws:arn:aws:iam::444455556666:role/* can be assumed by every role and user of its account (aws-auth)",
        "000000001234:user/*",
    ):
        assert words in told, (words, told)
    assert "an entry of mapAccounts" in " ".join(one.text for one in cluster.snapshot().authorization.caveats)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        (
            only("ForAnyValue:StringLike", sub=["system:serviceaccount:ci:*", POD]),
            "that fits 'system:serviceaccount:ci:*'",
        ),
        (only("StringEquals", sub="system:serviceaccount:ci:*"), ""),
        ({**only(sub=POD), **only("StringLike", sub="system:serviceaccount:*")}, ""),
        (only("StringNotEquals", sub=POD), "by the condition stringnotequals"),
        (only(aud="vault"), "of the cluster with a token for vault"),
        (only("StringLike", aud="sts.*"), "of the cluster"),
        (only("ArnEquals", x="1"), f"of the cluster if conditions on {HOST.lower()}:x hold"),
    ],
)
def test_wide_trust_heeds_all_conditions(condition: dict[str, Any], told: str) -> None:
    """A condition that leaves single service accounts is not wide, and others are named beside the trust."""
    trust = trust_of(role(statement(Condition=condition))["Role"])
    assert list(wide_trust(trust, ISSUER)) == ([f"every service account {told}"] if told else [])


def test_an_account_that_is_mapped_has_the_names_of_its_principals() -> None:
    """A binding to the ARN of one of its roles counts for the role, as for everybody of the account."""
    mapped: Any = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "aws-auth", "namespace": "kube-system"},
    }
    mapped["data"] = {"mapAccounts": '["444455556666"]'}
    outputs = described()
    next(one for one in outputs if "cluster" in one)["cluster"]["accessConfig"] = {"authenticationMode": "CONFIG_MAP"}
    cluster = simkit.load([mapped], captured=["*"], cloud=outputs)
    entries = cluster.snapshot().authorization.access
    assert entries is not None
    names = {entry.user for entry in entries.entries}
    assert names == {f"arn:aws:iam::444455556666:{kind}/{{{{Name}}}}" for kind in ("role", "user")}


@pytest.mark.parametrize(
    "document",
    [None, "x", {"Statement": 5}, {"Statement": [5]}, {"Statement": [{"Principal": 5}]}, {"Statement": [{}]}],
)
def test_a_damaged_trust_policy_is_told_or_trusts_nobody(document: Any) -> None:
    """It breaks no answer."""
    outputs = described(role(AssumeRolePolicyDocument=document))
    cluster = simkit.load(_irsa(annotated=True), manifests=True, cloud=outputs)
    told = " ".join(one.text for one in cluster.snapshot().authorization.caveats)
    assert "could not be read" in told or not cluster.escalations("user:ann", goal="cluster-admin")


def test_patterns_without_end_cost_no_time() -> None:
    """A trust policy of hundreds of wildcards is matched at once."""
    trust = trust_of(role(statement(Condition=only("StringLike", sub="*a" * 300 + "[")))["Role"])
    assert trusts_account(trust, ISSUER, "a" * 60, "a" * 60) is False


def test_the_commands_name_the_roles(capsys: pytest.CaptureFixture[str]) -> None:
    """They read the trust policies of roles with an access entry."""
    assert main(["dump", "--cloud", "eks"]) == 0
    assert "aws iam get-role" in capsys.readouterr().out
