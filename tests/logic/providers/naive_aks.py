"""Who may do what on AKS, written down without rules or an index: the model of the random worlds.

Sources: "Understand scope for Azure RBAC", "Understand Azure role definitions" (wildcards, NotDataActions), "Use Azure
RBAC for Kubernetes authorization" (namespaces), the authorization webhook (github.com/kubeguard/guard: actions).
"""

from __future__ import annotations

import random
import re
from typing import Any

from simkit.meta import datasets

TABLE = datasets.load("providers/aks-roles.json")["roles"]
SUBSCRIPTION = "/subscriptions/11111111-1111-1111-1111-111111111111"
GROUP = f"{SUBSCRIPTION}/resourceGroups/rg"
CLUSTER = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/c"
NAMESPACES = ("dev", "prod")
SCOPES = (SUBSCRIPTION, GROUP, CLUSTER, CLUSTER, f"{CLUSTER}/namespaces/dev", f"{SUBSCRIPTION}/resourceGroups/other")
PREFIX = "Microsoft.ContainerService/managedClusters"
OWNER, CONTRIBUTOR = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635", "b24988ac-6180-42a0-ab88-20f7382dd24c"
CUSTOM = "0000aaaa-1111-4222-8333-444455556666"
CUSTOM_PERMISSIONS = [
    {"dataActions": [f"{PREFIX}/*/read"], "notDataActions": [f"{PREFIX}/secrets/*"]},
    {"dataActions": [f"{PREFIX}/apps/*", f"{PREFIX}/pods/exec/action"], "notDataActions": [f"{PREFIX}/apps/*/delete"]},
]
ROLES = (*TABLE, CUSTOM)
PEOPLE = (("User", "ann@acme.example"), ("Group", ""), ("ServicePrincipal", "app"), ("User", "eve_x.example#EXT#@acme"))
QUESTIONS = (
    ("get", "", "pods", ""),
    ("watch", "", "pods", ""),
    ("get", "", "pods", "log"),
    ("create", "", "pods", "exec"),
    ("create", "", "pods", "portforward"),
    ("list", "", "secrets", ""),
    ("patch", "apps", "deployments", ""),
    ("update", "apps", "deployments", "scale"),
    ("deletecollection", "apps", "deployments", ""),
    ("create", "", "namespaces", ""),
    ("impersonate", "", "serviceaccounts", ""),
    ("escalate", "rbac.authorization.k8s.io", "roles", ""),
    ("list", "shop.example.com", "carts", ""),
)
CLUSTER_WIDE = ("namespaces",)
DELEGATION = "(!(ActionMatches{'Microsoft.Authorization/roleAssignments/write'})) OR (@Request[x:y] StringEquals 'z')"
CONDITIONS: dict[str | None, bool | None] = {
    None: True,
    "@Resource": None,
    f"({DELEGATION}) AND ({DELEGATION.replace('/write', '/delete')})": True,
    "(ActionMatches{'Microsoft.Storage/*'}) AND (@Resource[a:b] StringEquals 'c')": False,
    f"(!(ActionMatches{{'{PREFIX}/*'}}) || @Resource[a:b] StringEquals 'c')": None,
}
"""Conditions, and whether they hold for requests to a cluster."""
EVERYBODY = "00000000-0000-0000-0000-000000000000"
DENIED = (
    {"dataActions": [f"{PREFIX}/pods/*"], "notDataActions": [f"{PREFIX}/pods/read"]},
    {"dataActions": [f"{PREFIX}/*"]},
    {"dataActions": [f"{PREFIX}/secrets/read"], "actions": [f"{PREFIX}/listClusterAdminCredential/action"]},
    {"actions": ["*/delete", f"{PREFIX}/accessProfiles/listCredential/action"]},
)
ACTIONS = {
    **dict.fromkeys(("get", "list", "watch"), "read"),
    **dict.fromkeys(("create", "patch", "update"), "write"),
    **dict.fromkeys(("delete", "deletecollection"), "delete"),
    **{verb: f"{verb}/action" for verb in ("bind", "escalate", "impersonate", "use")},
}


def object_id(number: int) -> str:
    """The object id of a principal."""
    return f"{number + 1:08d}-0000-0000-0000-000000000000"


def name_of(number: int) -> str:
    """The subject that a principal is in the cluster."""
    kind, name = PEOPLE[number]
    member = kind == "User" and "#EXT#" not in name
    return f"group:{object_id(number)}" if kind == "Group" else f"user:{name if member else object_id(number)}"


def assignment(role: str, number: int, scope: str, condition: str | None = None) -> dict[str, Any]:
    """A role assignment as ``az role assignment list`` has it."""
    kind, name = PEOPLE[number]
    return {
        "id": f"{scope}/providers/Microsoft.Authorization/roleAssignments/x",
        "principalId": object_id(number),
        "principalName": name,
        "principalType": kind,
        "roleDefinitionId": f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}",
        "roleDefinitionName": "",
        "scope": scope,
        "condition": condition,
    }


def cluster(**fields: Any) -> dict[str, Any]:
    """The cluster as ``az aks show`` has it."""
    entra = {"managed": True, "enableAzureRbac": True, "adminGroupObjectIDs": None}
    found = {"id": CLUSTER, "name": "c", "nodeResourceGroup": "MC_c", "aadProfile": entra, "disableLocalAccounts": True}
    return {**found, **fields}


def world(seed: int) -> list[Any]:
    """Outputs of the Azure CLI."""
    dice = random.Random(seed)
    by_azure, local = dice.random() < 0.8, dice.random() < 0.4
    outputs: list[Any] = [cluster(aadProfile={"enableAzureRbac": by_azure}, disableLocalAccounts=not local)]
    outputs.append({"name": CUSTOM, "roleName": "own", "permissions": CUSTOM_PERMISSIONS})
    listed = [assignment("acdd72a7-3385-48ef-bd42-f606fba81ae7", 0, SUBSCRIPTION)]
    for _ in range(dice.randrange(5)):
        condition = dice.choice(list(CONDITIONS)) if dice.random() < 0.4 else None
        listed.append(assignment(dice.choice(ROLES), dice.randrange(4), dice.choice(SCOPES), condition))
    outputs.append(listed)
    denials = [_deny_assignment(dice, number) for number in range(dice.choice((0, 0, 1, 2)))]
    outputs.append({"value": denials} if dice.random() < 0.5 else denials)
    dice.shuffle(outputs)
    return outputs


def _deny_assignment(dice: random.Random, number: int) -> dict[str, Any]:
    """A deny assignment as the REST API lists it."""
    people = [{"id": object_id(one), "type": PEOPLE[one][0]} for one in range(len(PEOPLE))]
    everybody = {"id": EVERYBODY, "type": "SystemDefined"}
    blocks = [
        {**one, **({"condition": dice.choice(list(CONDITIONS))} if dice.random() < 0.3 else {})}
        for one in dice.sample(DENIED, dice.choice((1, 1, 2)))
    ]
    properties = {
        "denyAssignmentName": f"d{number}",
        "permissions": blocks,
        "scope": dice.choice(SCOPES),
        "doNotApplyToChildScopes": dice.random() < 0.2,
        "principals": [everybody] if dice.random() < 0.4 else dice.sample(people, 1),
        "excludePrincipals": dice.sample(people, 1) if dice.random() < 0.4 else [],
        "condition": dice.choice(list(CONDITIONS)) if dice.random() < 0.3 else None,
        **({"denyAssignmentEffect": dice.choice(("enforced", "audit"))} if dice.random() < 0.4 else {}),
    }
    return {"name": f"d{number}", "type": "Microsoft.Authorization/denyAssignments", "properties": properties}


def answer(outputs: list[Any], number: int, asked: tuple[str, str, str, str], namespace: str) -> str:
    """Whether a principal may do something, by itself or with a credential that it may get: yes, no or unknown."""
    (shown,) = (one for one in outputs if isinstance(one, dict) and "nodeResourceGroup" in one)
    ways = []
    if shown["aadProfile"]["enableAzureRbac"]:
        ways.append(_way(outputs, number, "dataActions", "notDataActions", data_action(asked), namespace))
    if not shown["disableLocalAccounts"]:
        credentials = ("listClusterAdminCredential/action", "accessProfiles/listCredential/action")
        ways += [_way(outputs, number, "actions", "notActions", f"{PREFIX}/{action}", "") for action in credentials]
    return "yes" if True in ways else "unknown" if None in ways else "no"


def _way(outputs: list[Any], number: int, some: str, without: str, action: str, namespace: str) -> bool | None:
    """Whether a principal has an action, None if that is not known: it is granted, and not denied."""
    lists = [one for one in outputs if isinstance(one, list)] + [one["value"] for one in outputs if "value" in one]
    given: list[bool | None] = [False]
    taken: list[bool | None] = [False]
    for one in (statement for listed in lists for statement in listed):
        if "principalId" in one:
            blocks = CUSTOM_PERMISSIONS if one["roleDefinitionId"].endswith(CUSTOM) else _table(one["roleDefinitionId"])
            mine = one["principalId"] == object_id(number) and _within(one["scope"], namespace)
            if mine and any(_covers(block, some, without, action) for block in blocks):
                given.append(CONDITIONS[one["condition"]])
        else:
            what = one["properties"]
            above = what["scope"] in (SUBSCRIPTION, GROUP) and what["doNotApplyToChildScopes"]
            if not above and what.get("denyAssignmentEffect") != "audit" and _within(what["scope"], namespace):
                covering = [block for block in what["permissions"] if _covers(block, some, without, action)]
                taken += [_denied(what, number, block.get("condition")) for block in covering]
    if True in taken or not any(one is not False for one in given):
        return False
    return True if True in given and None not in taken else None


def _within(scope: str, namespace: str) -> bool:
    here = bool(namespace) and scope == f"{CLUSTER}/namespaces/{namespace}"
    return scope in (SUBSCRIPTION, GROUP, CLUSTER) or here


def _denied(what: dict[str, Any], number: int, condition: str | None) -> bool | None:
    """Whether a block of a deny assignment with a condition of its own is about a principal; a group stands for some member, who may be left out of it."""
    named = {one["id"] for one in what["principals"]}
    excluded = {one["id"] for one in what["excludePrincipals"]}
    is_group = PEOPLE[number][0] == "Group"
    group = next(object_id(one) for one in range(len(PEOPLE)) if PEOPLE[one][0] == "Group")
    if named.isdisjoint((EVERYBODY, object_id(number))):
        return None if group in named and not is_group else False
    conditions = (CONDITIONS[what["condition"]], CONDITIONS[condition])
    if object_id(number) in excluded or False in conditions:
        return False
    return None if None in conditions or group in excluded or (is_group and excluded) else True


def data_action(asked: tuple[str, str, str, str]) -> str:
    """The data action for a request: one for a resource, whatever its subresource, but for exec."""
    verb, group, resource, subresource = asked
    last = "exec/action" if (resource, subresource) == ("pods", "exec") else ACTIONS[verb]
    return "/".join(filter(None, (PREFIX, group, resource, last)))


def _table(role: str) -> list[dict[str, list[str]]]:
    found: list[dict[str, list[str]]] = TABLE.get(role.rpartition("/")[2], {}).get("permissions", [])
    return found


def _covers(block: dict[str, list[str]], some: str, without: str, action: str) -> bool:
    def named(field: str) -> bool:
        patterns = (".*".join(map(re.escape, one.split("*"))) for one in block.get(field, ()))
        return any(re.fullmatch(one, action, re.IGNORECASE) for one in patterns)

    return named(some) and not named(without)
