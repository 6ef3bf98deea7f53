"""Who may do what on GKE, written down from the documentation without rules or an index: the model of random worlds.

Sources: "Create IAM allow policies" (a request needs RBAC or IAM), "Policy" of IAM (policies are inherited, conditions),
"GKE API permissions" (``container.RESOURCE.VERB``), "Configure Google Groups for RBAC" (names of groups).
"""

from __future__ import annotations

import random
from typing import Any

from simkit.meta import datasets

TABLE = datasets.load("providers/gke-iam-roles.json")
PROJECT = "acme"
NAMESPACES = ("dev", "prod")
PEOPLE = ("ann@acme.example", "bob@acme.example", "cy@acme.example", "eve@other.example")
GROUPS = ("devs@acme.example", "all@acme.example")
CUSTOM = f"projects/{PROJECT}/roles/own"
ROLES = (
    *("roles/container.viewer", "roles/container.developer", "roles/editor", "roles/viewer", "roles/storage.admin"),
    *("roles/container.clusterViewer", "roles/iam.securityReviewer", CUSTOM),
)
OWN = ("container.pods.exec", "container.secrets.get", "container.thirdPartyObjects.list", "storage.buckets.get")
PERMISSIONS = {
    ("get", "", "pods", ""): "container.pods.get",
    ("watch", "", "pods", ""): "container.pods.list",
    ("patch", "apps", "deployments", ""): "container.deployments.update",
    ("deletecollection", "batch", "jobs", ""): "container.jobs.delete",
    ("create", "", "pods", "exec"): "container.pods.exec",
    ("get", "", "pods", "log"): "container.pods.getLogs",
    ("get", "", "secrets", ""): "container.secrets.get",
    ("list", "", "secrets", ""): "container.secrets.list",
    ("create", "", "serviceaccounts", "token"): "container.serviceAccounts.createToken",
    ("escalate", "rbac.authorization.k8s.io", "clusterroles", ""): "container.clusterRoles.escalate",
    ("list", "shop.example.com", "carts", ""): "container.thirdPartyObjects.list",
    ("update", "apps", "statefulsets", "scale"): "container.statefulSets.updateScale",
}
"""The permission that each request needs."""
CONDITIONS: dict[str, bool | None] = {
    "request.time > timestamp('2030-01-01T00:00:00Z')": None,
    "request.time < timestamp('2020-01-01T00:00:00Z')": False,
    "request.time > timestamp('2020-01-01T00:00:00Z')": True,
    "resource.type == 'compute.googleapis.com/Instance'": False,
    "resource.service == 'container.googleapis.com' && resource.name.endsWith('/clusters/c')": True,
    "resource.name.startsWith('projects/other/')": False,
    "resource.name.startsWith('projects/acme/')": None,
    "resource.matchTag('123/env', 'prod')": None,
    "request.time.getHours('Europe/Berlin') < 18": None,
}
"""Conditions, and whether they hold for a cluster that was made in 2025."""
CLUSTER_WIDE = ("clusterroles",)
BOUND = {
    "pods": [{"verbs": ["get", "watch"], "apiGroups": [""], "resources": ["pods"]}],
    "secrets": [{"verbs": ["list"], "apiGroups": [""], "resources": ["secrets"]}],
}


def permissions(role: str) -> frozenset[str]:
    """The permissions of a role as the table of the documentation has them."""
    if role == CUSTOM:
        return frozenset(OWN)
    rows = TABLE["roles"].get(TABLE["same"].get(role, role), {})
    return frozenset(f"container.{name}.{verb}" for name, verbs in rows.items() for verb in verbs.split())


def world(seed: int) -> tuple[list[Any], list[dict[str, Any]]]:
    """Outputs of gcloud, and objects."""
    dice = random.Random(seed)
    outputs: list[Any] = [
        {
            "name": "c",
            "selfLink": f"https://container.googleapis.com/v1/projects/{PROJECT}/locations/eu/clusters/c",
            "currentMasterVersion": "1.30.5-gke.1014000",
            "createTime": "2025-05-01T10:00:00+00:00",
            "authenticatorGroupsConfig": {"enabled": True} if dice.random() < 0.5 else {},
        },
        {"name": CUSTOM, "includedPermissions": list(OWN)},
        *({"name": f"groups/{number}", "groupKey": {"id": group}} for number, group in enumerate(GROUPS)),
        {"name": "groups/1/memberships/0", "preferredMemberKey": {"id": GROUPS[0]}},
        {"name": "groups/0/memberships/9", "preferredMemberKey": {"id": "else@acme.example"}, "type": "USER"},
    ]
    for number, person in enumerate(dice.sample(PEOPLE, dice.randrange(1, 4))):
        name = f"groups/{dice.randrange(2)}/memberships/{number + 1}"
        outputs.append({"name": name, "preferredMemberKey": {"id": person}, "type": "USER"})
    levels = (("project", PROJECT), ("folder", "12"), ("organization", "34"))
    outputs.append([{"id": at, "type": kind, "policy": {"bindings": _bindings(dice)}} for kind, at in levels])
    outputs += [_deny_policy(dice, number) for number in range(dice.choice((0, 0, 1, 2)))]
    dice.shuffle(outputs)
    return outputs, _objects(dice)


def _deny_policy(dice: random.Random, number: int) -> dict[str, Any]:
    """A deny policy, alone or as the list of ancestors has it."""
    people = [f"principal://goog/subject/{one}" for one in PEOPLE]
    groups = [f"principalSet://goog/group/{one}" for one in (*GROUPS, "strangers@acme.example")]
    rule: dict[str, Any] = {
        "deniedPrincipals": dice.sample((*people, *groups, "principalSet://goog/public:all"), 1),
        "deniedPermissions": dice.sample(DENIABLE, 2),
    }
    if dice.random() < 0.4:
        rule["exceptionPrincipals"] = dice.sample((*people, *groups), 1)
    if dice.random() < 0.3:
        rule["exceptionPermissions"] = dice.sample(DENIABLE[:4], 1)
    if dice.random() < 0.2:
        rule["denialCondition"] = {"title": "tags", "expression": "resource.matchTag('1/a', 'b')"}
    name = f"policies/cloudresourcemanager.googleapis.com%2Fprojects%2F{PROJECT}/denypolicies/d{number}"
    policy = {"name": name, "kind": "DenyPolicy", "rules": [{"denyRule": rule}]}
    return policy if dice.random() < 0.5 else {"id": PROJECT, "type": "project", "policy": policy}


DENIABLE = (
    *("container.googleapis.com/pods.exec", "container.googleapis.com/secrets.*", "container.googleapis.com/pods.get"),
    *("container.googleapis.com/deployments.update", "container.googleapis.com/*.*", "storage.googleapis.com/*.*"),
)


def _bindings(dice: random.Random) -> list[dict[str, Any]]:
    found = []
    for role in dice.sample(ROLES, dice.randrange(4)):
        members = [f"user:{dice.choice(PEOPLE)}", f"group:{dice.choice(GROUPS)}", "domain:acme.example"]
        binding: dict[str, Any] = {"role": role, "members": dice.sample(members, dice.choice((1, 1, 2)))}
        if dice.random() < 0.3:
            binding["condition"] = {"title": "c", "expression": dice.choice(sorted(CONDITIONS))}
        found.append(binding)
    return found


def _objects(dice: random.Random) -> list[dict[str, Any]]:
    rbac = "rbac.authorization.k8s.io"
    names = {"plural": "carts", "kind": "Cart"}
    definition = {"group": "shop.example.com", "names": names, "scope": "Namespaced", "versions": []}
    found: list[dict[str, Any]] = [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES),
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "carts.shop.example.com"},
            "spec": definition,
        },
        *(
            {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
            for name, rules in BOUND.items()
        ),
    ]
    for number in range(dice.randrange(4)):
        subject = dice.choice(
            (
                {"apiGroup": rbac, "kind": "User", "name": dice.choice(PEOPLE)},
                {"apiGroup": rbac, "kind": "Group", "name": dice.choice(GROUPS)},
            )
        )
        binding: dict[str, Any] = {"kind": "RoleBinding", "apiVersion": f"{rbac}/v1", "subjects": [subject]}
        binding["metadata"] = {"name": f"b{number}", "namespace": dice.choice(NAMESPACES)}
        binding["roleRef"] = {"apiGroup": rbac, "kind": "ClusterRole", "name": dice.choice(sorted(BOUND))}
        found.append(binding)
    return found


def answer(
    outputs: list[Any], objects: list[dict[str, Any]], person: str, asked: tuple[str, str, str, str], namespace: str
) -> str:
    """Whether IAM or RBAC allows a request, in a namespace or (empty) in all of them: yes, no or unknown."""
    groups = _groups(outputs, person)
    if _by_rbac(outputs, objects, person, groups, asked, namespace):
        return "yes"
    members = {f"user:{person}", f"domain:{person.partition('@')[2]}", *(f"group:{one}" for one in groups)}
    (levels,) = (one for one in outputs if isinstance(one, list))
    given: list[bool | None] = [False]
    for level in levels:
        for binding in level["policy"]["bindings"]:
            holds = CONDITIONS[binding["condition"]["expression"]] if "condition" in binding else True
            if not members.isdisjoint(binding["members"]) and PERMISSIONS[asked] in permissions(binding["role"]):
                given.append(holds)
    taken = [_is_denied(one, person, groups, PERMISSIONS[asked]) for one in _deny_rules(outputs)]
    if True in taken or not any(one is not False for one in given):
        return "no"
    return "yes" if True in given and None not in taken else "unknown"


def _deny_rules(outputs: list[Any]) -> list[dict[str, Any]]:
    policies = [one.get("policy", one) for one in outputs if isinstance(one, dict)]
    return [rule["denyRule"] for one in policies if one.get("kind") == "DenyPolicy" for rule in one["rules"]]


def _is_denied(rule: dict[str, Any], person: str, groups: set[str], permission: str) -> bool | None:
    """Whether a rule takes a permission away from somebody; None if that is not known."""
    asked = permission.replace("container.", "container.googleapis.com/", 1)
    if not _named(rule["deniedPermissions"], asked) or _named(rule.get("exceptionPermissions", []), asked):
        return False
    mine = {f"principal://goog/subject/{person}", "principalSet://goog/public:all"}
    mine |= {f"principalSet://goog/group/{one}" for one in groups}
    strangers = "principalSet://goog/group/strangers@acme.example"
    excepted = rule.get("exceptionPrincipals", [])
    if not mine.isdisjoint(rule["deniedPrincipals"]):
        if not mine.isdisjoint(excepted):
            return False
        return None if strangers in excepted or "denialCondition" in rule else True
    return None if strangers in rule["deniedPrincipals"] else False


def _named(patterns: list[str], permission: str) -> bool:
    return any(
        one in (permission, "container.googleapis.com/*.*") or one == f"{permission.rpartition('.')[0]}.*"
        for one in patterns
    )


def _groups(outputs: list[Any], person: str) -> set[str]:
    """The groups of a person: a member of the first group is one of the second, too."""
    flat = [one for one in outputs if isinstance(one, dict) and "preferredMemberKey" in one]
    found = {GROUPS[int(one["name"].split("/")[1])] for one in flat if one["preferredMemberKey"]["id"] == person}
    return found | ({GROUPS[1]} if GROUPS[0] in found else set())


def _by_rbac(
    outputs: list[Any],
    objects: list[dict[str, Any]],
    person: str,
    groups: set[str],
    asked: tuple[str, str, str, str],
    namespace: str,
) -> bool:
    (cluster,) = (one for one in outputs if isinstance(one, dict) and "currentMasterVersion" in one)
    names = {person, *(groups if cluster["authenticatorGroupsConfig"].get("enabled") else ())}
    verb, group, resource, subresource = asked
    return any(
        obj["kind"] == "RoleBinding"
        and obj["metadata"]["namespace"] == namespace
        and obj["subjects"][0]["name"] in names
        and not subresource
        and any(
            verb in rule["verbs"] and group in rule["apiGroups"] and resource in rule["resources"]
            for rule in BOUND[obj["roleRef"]["name"]]
        )
        for obj in objects
    )
