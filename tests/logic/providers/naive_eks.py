"""Who may do what on EKS, written down from the user guide without any index: the model of the random worlds.

Sources: "Grant IAM users access to Kubernetes with EKS access entries" (modes), "Migrating existing aws-auth ConfigMap
entries" (an entry takes precedence for the same principal), "Associate access policies with access entries" (scopes and
wildcards), "Review access policy permissions" (rules).
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

from simkit.meta import datasets

ACCOUNT = "111122223333"
NAMESPACES = ("dev-a", "dev-b", "prod", "kube-system")
GROUPS = ("viewers", "deployers", "oncall")
POLICIES = datasets.load("providers/eks-access-policies.json")["policies"]
ROLES = {
    "pods": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/log"]}],
    "secrets": [{"verbs": ["*"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["db"]}],
    "deployments": [{"verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"]}],
}
QUESTIONS = (
    ("get", "", "pods", ""),
    ("delete", "", "pods", ""),
    ("get", "", "secrets", "db"),
    ("get", "", "secrets", "other"),
    ("update", "apps", "deployments", "web"),
    ("create", "rbac.authorization.k8s.io", "rolebindings", ""),
    ("list", "", "nodes", ""),
    ("impersonate", "", "serviceaccounts", "default"),
    ("escalate", "rbac.authorization.k8s.io", "clusterroles", "x"),
)


def arn(number: int) -> str:
    """The ARN of a principal."""
    return f"arn:aws:iam::{ACCOUNT}:{'user' if number % 3 == 0 else 'role'}/p{number}"


def world(seed: int) -> tuple[list[Any], list[dict[str, Any]], str]:
    """Outputs of the AWS CLI, objects, and the authentication mode."""
    dice = random.Random(seed)
    mode = dice.choice(("API", "API", "API_AND_CONFIG_MAP", "CONFIG_MAP"))
    outputs: list[Any] = [{"cluster": {"name": "c", "accessConfig": {"authenticationMode": mode}}}]
    with_entry = dice.sample(range(8), dice.randrange(6))
    outputs.append({"accessEntries": [arn(one) for one in with_entry]})
    for one in with_entry:
        user = arn(one) if one % 3 == 0 else f"arn:aws:sts::{ACCOUNT}:assumed-role/p{one}/{{{{SessionName}}}}"
        user = dice.choice((user, f"custom-{one}"))
        groups = dice.sample(GROUPS, dice.randrange(3))
        entry = {"principalArn": arn(one), "username": user, "kubernetesGroups": groups, "clusterName": "c"}
        outputs.append({"accessEntry": entry})
        policies = [_association(dice, name) for name in dice.sample(sorted(POLICIES), dice.randrange(3))]
        outputs.append({"principalArn": arn(one), "clusterName": "c", "associatedAccessPolicies": policies})
    dice.shuffle(outputs)
    return outputs, _objects(dice), mode


def _association(dice: random.Random, name: str) -> dict[str, Any]:
    scope = dice.choice(([], ["prod"], ["dev-*"], ["*-a", "prod"], ["kube-system", "nowhere"]))
    kind = "namespace" if scope else "cluster"
    return {
        "policyArn": f"arn:aws:eks::aws:cluster-access-policy/{name}",
        "accessScope": {"type": kind, "namespaces": scope},
    }


def _objects(dice: random.Random) -> list[dict[str, Any]]:
    def obj(group: str, kind: str, name: str, namespace: str = "", **content: Any) -> dict[str, Any]:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        return {"apiVersion": group, "kind": kind, "metadata": metadata, **content}

    rbac = "rbac.authorization.k8s.io"
    found = [obj("v1", "Namespace", name) for name in NAMESPACES]
    found += [obj(f"{rbac}/v1", "ClusterRole", name, rules=rules) for name, rules in ROLES.items()]
    for number in range(dice.randrange(5)):
        place = dice.choice(("", *NAMESPACES))
        subject = dice.choice(
            (
                {"kind": "Group", "name": dice.choice((*GROUPS, "system:authenticated"))},
                {"kind": "User", "name": f"custom-{dice.randrange(8)}"},
                {"kind": "User", "name": f"mapped-{dice.randrange(8)}"},
                {"kind": "User", "name": arn(dice.randrange(8))},
            )
        )
        reference = {"apiGroup": rbac, "kind": "ClusterRole", "name": dice.choice(sorted(ROLES))}
        kind = "RoleBinding" if place else "ClusterRoleBinding"
        found.append(obj(f"{rbac}/v1", kind, f"b{number}", place, roleRef=reference, subjects=[subject]))
    mapped: dict[str, list[dict[str, Any]]] = {"mapRoles": [], "mapUsers": []}
    for one in dice.sample(range(8), dice.randrange(4)):
        field, name = ("mapUsers", "userarn") if one % 3 == 0 else ("mapRoles", "rolearn")
        entry = {name: arn(one), "username": f"mapped-{one}", "groups": dice.sample(GROUPS, dice.randrange(3))}
        mapped[field].append(entry)
    data = {field: json.dumps(entries) for field, entries in mapped.items()}
    found.append(obj("v1", "ConfigMap", "aws-auth", "kube-system", data=data))
    return found


def allowed(
    outputs: list[Any],
    objects: list[dict[str, Any]],
    mode: str,
    principal: str,
    asked: tuple[str, str, str, str],
    namespace: str,
) -> bool:
    """Whether a principal may do something in a namespace, empty: in all of them."""
    found = _identity(outputs, objects, mode, principal)
    user, groups, policies = found or ("", [], [])
    if any(policy_allows(policy, asked, namespace) for policy in policies):
        return True
    for obj in objects:
        if obj["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        (subject,) = obj["subjects"]
        names = [user] if subject["kind"] == "User" else [*groups, "system:authenticated"]
        place = obj["metadata"].get("namespace", "")
        applies = subject["name"] in names and place in ("", namespace)
        if applies and any(_rule_allows(rule, asked) for rule in ROLES[obj["roleRef"]["name"]]):
            return True
    return False


def policy_allows(policy: dict[str, Any], asked: tuple[str, str, str, str], namespace: str) -> bool:
    """Whether an associated access policy allows something in a namespace, empty: in all of them."""
    scope = policy["accessScope"]
    inside = scope["type"] == "cluster" or any(_matches(one, namespace) for one in scope["namespaces"])
    return inside and any(_rule_allows(rule, asked) for rule in POLICIES[policy["policyArn"].rpartition("/")[2]])


def policy_holders(outputs: list[Any], mode: str, asked: tuple[str, str, str, str], namespace: str) -> set[str]:
    """The principals whom an access policy allows something."""
    return {
        one["principalArn"]
        for one in outputs
        for policy in one.get("associatedAccessPolicies", ())
        if mode != "CONFIG_MAP" and policy_allows(policy, asked, namespace)
    }


def _identity(
    outputs: list[Any], objects: list[dict[str, Any]], mode: str, principal: str
) -> tuple[str, list[str], list[Any]] | None:
    if mode != "CONFIG_MAP":
        for one in outputs:
            entry = one.get("accessEntry") or {}
            if entry.get("principalArn") == principal:
                policies = [
                    policy
                    for each in outputs
                    if each.get("principalArn") == principal
                    for policy in each["associatedAccessPolicies"]
                ]
                return entry["username"], entry["kubernetesGroups"], policies
    if mode != "API":
        (config_map,) = (one for one in objects if one["kind"] == "ConfigMap")
        for field in ("mapRoles", "mapUsers"):
            for one in json.loads(config_map["data"][field]):
                if principal in (one.get("rolearn"), one.get("userarn")):
                    return one["username"], one["groups"], []
    return None


def _matches(pattern: str, namespace: str) -> bool:
    return bool(namespace) and re.fullmatch(pattern.replace("*", ".*"), namespace) is not None


def _rule_allows(rule: dict[str, list[str]], asked: tuple[str, str, str, str]) -> bool:
    verb, group, resource, name = asked
    if "nonResourceURLs" in rule:
        return False
    named = not rule.get("resourceNames") or name in rule["resourceNames"]
    return (
        named
        and any(one in rule["verbs"] for one in (verb, "*"))
        and any(one in rule["apiGroups"] for one in (group, "*"))
        and any(one in rule["resources"] for one in (resource, "*"))
    )
