"""Policies of IAM: who may change access entries, beside a naive model, and the paths and findings that follow."""

from __future__ import annotations

import random
from typing import Any

import pytest

import simkit
from simkit.snapshot.cloud.eks_permissions import Policies
from simkit.snapshot.cloud.output import Unexpected
from tests.logic.providers.test_access_entries import _irsa
from tests.logic.providers.test_eks_trust import described

CLUSTER = "arn:aws:eks:eu-west-1:111122223333:cluster/tracking"
ACCOUNT = "arn:aws:iam::111122223333"
ENTRIES = "arn:aws:eks:eu-west-1:111122223333:access-entry/tracking"
BOTH = ["eks:CreateAccessEntry", "eks:AssociateAccessPolicy"]
ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"


def allow(actions: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:
    """A statement that allows something."""
    return {"Effect": "Allow", "Action": actions, "Resource": resource, **more}


def deny(actions: Any, **more: Any) -> dict[str, Any]:
    """A statement that denies something everywhere."""
    return {**allow(actions, **more), "Effect": "Deny"}


def details(*statements: Any, managed: tuple[str, ...] = (), groups: tuple[str, ...] = (), **more: Any) -> Any:
    """The output of ``aws iam get-account-authorization-details`` with one user and one group."""
    document = {"Version": "2012-10-17", "Statement": list(statements)}
    everything = {"Version": "2012-10-17", "Statement": allow("*")}
    version = {"VersionId": "v1", "IsDefaultVersion": True, "Document": everything}
    old = {"VersionId": "v0", "IsDefaultVersion": False, "Document": {}}
    user = {"Arn": f"{ACCOUNT}:user/ann", "UserName": "ann", "GroupList": list(groups), **more}
    user["UserPolicyList"] = [{"PolicyName": "p", "PolicyDocument": document}] if statements else []
    user["AttachedManagedPolicies"] = [{"PolicyName": "m", "PolicyArn": arn} for arn in managed]
    group: dict[str, Any] = {
        "Arn": f"{ACCOUNT}:group/ops",
        "GroupName": "ops",
        "GroupPolicyList": [],
        "AttachedManagedPolicies": [],
    }
    group["AttachedManagedPolicies"] = [{"PolicyName": "admin", "PolicyArn": ADMIN}]
    policies = [{"PolicyName": "admin", "Arn": ADMIN, "PolicyVersionList": [old, version]}]
    return {"UserDetailList": [user], "GroupDetailList": [group], "RoleDetailList": [], "Policies": policies}


def found(output: Any, with_entry: tuple[str, ...] = (), cluster: str = CLUSTER) -> bool | None:
    """Whether ann may make herself an administrator; None if that is not known."""
    policies = Policies()
    for name in ("UserDetailList", "GroupDetailList", "RoleDetailList"):
        for one in output[name]:
            policies.take_holder(one)
    for one in output["Policies"]:
        policies.take_policy(one)
    answers = dict(policies.changers(cluster, with_entry))
    return answers.get(f"{ACCOUNT}:user/ann", False) or (None if answers else False)


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        (details(allow(BOTH)), True),
        (details(allow("eks:*")), True),
        (details(allow("EKS:*accessentry"), allow("eks:Associate*")), True),
        (details(allow("eks:CreateAccessEntry", CLUSTER), allow("eks:AssociateAccessPolicy", f"{ENTRIES}/*")), True),
        (details({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}), True),
        (details(managed=(ADMIN,)), True),
        (details(groups=("ops",)), True),
        (details(allow("eks:CreateAccessEntry")), False),
        (details(allow("eks:AssociateAccessPolicy")), False),
        (details(allow("eks:Describe*")), False),
        (details(allow(BOTH, CLUSTER.replace("tracking", "other"))), False),
        (details(allow(BOTH), deny("eks:*")), False),
        (details({"Effect": "Allow", "NotAction": "eks:*", "Resource": "*"}), False),
        (details(), False),
        (details(allow(BOTH, Condition={"Bool": {"aws:MultiFactorAuthPresent": "true"}})), None),
        (details(allow(BOTH), deny("eks:*", Condition={"Bool": {"aws:x": "true"}})), None),
        (details(managed=("arn:aws:iam::111122223333:policy/unknown",)), None),
        (details(allow(BOTH), PermissionsBoundary={"PermissionsBoundaryArn": "x"}), None),
        (
            details(
                allow("eks:CreateAccessEntry"), allow("eks:AssociateAccessPolicy", f"{ENTRIES}/user/111122223333/ann/7")
            ),
            None,
        ),
        (details({"Effect": "Allow", "Action": BOTH, "NotResource": "x"}), None),
        (details(groups=("unknown",)), None),
        (details(allow(BOTH), groups=("unknown",)), None),
        (details(allow(BOTH), managed=("arn:aws:iam::111122223333:policy/unknown",)), None),
        (details(deny("eks:*"), groups=("unknown",)), False),
        (details(allow(BOTH, "arn:aws:eks:*:*:*/${aws:PrincipalTag/cluster}*")), None),
    ],
)
def test_who_may_change_access_entries(output: Any, wanted: bool | None) -> None:
    """Allowed both, for the cluster and its entries, and not denied; what is not decided is neither."""
    assert found(output) is wanted


@pytest.mark.parametrize("effect", ["allow", "DENY", None, 5, ["Allow"]])
def test_a_statement_with_an_effect_that_is_none_is_not_read(effect: Any) -> None:
    """It is no denial; the export says that it has an output that could not be read."""
    with pytest.raises(Unexpected, match="neither Allow nor Deny"):
        found(details({**allow(BOTH), "Effect": effect}))


def test_a_principal_with_an_entry_needs_no_other() -> None:
    """To associate a policy with an entry that is there is enough; without the ARN of the cluster, names are open."""
    assert found(details(allow("eks:AssociateAccessPolicy")), (f"{ACCOUNT}:user/ann",)) is True
    assert found(details(allow(BOTH, CLUSTER)), cluster="") is None
    assert found(details(allow(BOTH)), cluster="") is True


def test_random_statements_are_decided_as_by_a_naive_model() -> None:
    """An explicit deny wins, then what is allowed; a condition leaves open what it would decide."""
    seen = set()
    kinds = {"eks:*": (1, 1), "eks:CreateAccessEntry": (1, 0), "eks:AssociateAccessPolicy": (0, 1), "s3:*": (0, 0)}
    for seed in range(300):
        dice = random.Random(seed)
        chosen = [
            (dice.random() < 0.75, dice.choice(list(kinds)), dice.random() < 0.25) for _ in range(dice.randrange(5))
        ]
        condition = {"Bool": {"aws:x": "true"}}
        statements = [
            {**(allow(action) if allows else deny(action)), **({"Condition": condition} if unknown else {})}
            for allows, action, unknown in chosen
        ]
        needs: list[bool | None] = []
        for place in range(2):
            given = [not unknown for allows, action, unknown in chosen if allows and kinds[action][place]]
            taken = [not unknown for allows, action, unknown in chosen if not allows and kinds[action][place]]
            certain = any(given) and not taken
            needs.append(False if any(taken) or not given else True if certain else None)
        wanted: bool | None = False if False in needs else None if None in needs else True
        assert found(details(*statements)) is wanted, (seed, chosen)
        seen.add(wanted)
    assert seen == {True, False, None}


def test_a_pod_leads_to_the_cluster_by_a_role_that_changes_entries() -> None:
    """The role has no access entry: it makes one. An audit lists it, and what is not decided makes no path."""
    role = f"{ACCOUNT}:role/deployer"
    objects = _irsa(annotated=True)
    for one in objects:
        notes = one.get("metadata", {}).get("annotations", {})
        notes.update({key: role for key in notes if "role-arn" in key})
    for more, paths in (({}, 1), ({"Condition": {"Bool": {"aws:x": "true"}}}, 0)):
        statements = [allow(BOTH, **more)]
        inline = [{"PolicyName": "p", "PolicyDocument": {"Statement": statements}}]
        detail = {"Arn": role, "RoleName": "deployer", "RolePolicyList": inline, "AttachedManagedPolicies": []}
        trust = {
            "Statement": [{"Effect": "Allow", "Principal": {"AWS": f"{ACCOUNT}:root"}, "Action": "sts:AssumeRole"}]
        }
        outputs = described({"RoleDetailList": [{**detail, "AssumeRolePolicyDocument": trust}], "Policies": []})
        cluster: Any = next(one for one in outputs if "cluster" in one)["cluster"]
        cluster["arn"] = CLUSTER
        loaded = simkit.load(objects, manifests=True, cloud=outputs)
        told = [str(one) for one in loaded.findings(checks=["cloud-changes"])["message"]]
        assert len(told) == 1
        assert "may make itself" in told[0]
        assert ("is not known" in told[0]) == (not paths)
        assert not loaded.escalations("user:ann", goal="cluster-admin"), "its trust policy names no service account"
        federated = next(one for one in outputs if "RoleDetailList" in one)["RoleDetailList"][0]
        federated["AssumeRolePolicyDocument"] = {"Statement": _trusting()}
        loaded = simkit.load(objects, manifests=True, cloud=outputs)
        found_paths = loaded.escalations("user:ann", goal="cluster-admin")
        assert [path.primitives[-2:] for path in found_paths] == [("K19", "K20")] * paths
        assert all(not proof.verdict.startswith("proven") for proof in found_paths.prove())


def _trusting() -> list[Any]:
    from tests.logic.providers.test_eks_trust import POD, only, statement

    return [statement(Condition=only(sub=POD))]
