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
ACTIONS = {
    **dict.fromkeys(("get", "list", "watch"), "read"),
    **dict.fromkeys(("create", "patch", "update"), "write"),
    **dict.fromkeys(("delete", "deletecollection"), "delete"),
    **{verb: f"{verb}/action" for verb in ("bind", "escalate", "impersonate", "use")},
}


def object_id(number: int) -> str:
    """The object id of a principal."""
    return f"{number:08d}-0000-0000-0000-000000000000"


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
        condition = "@Resource" if dice.random() < 0.15 else None
        listed.append(assignment(dice.choice(ROLES), dice.randrange(4), dice.choice(SCOPES), condition))
    outputs.append(listed)
    dice.shuffle(outputs)
    return outputs


def allowed(outputs: list[Any], number: int, asked: tuple[str, str, str, str], namespace: str) -> bool:
    """Whether a principal certainly may do something, by itself or with a credential that it may have."""
    (shown,) = (one for one in outputs if isinstance(one, dict) and "nodeResourceGroup" in one)
    (listed,) = (one for one in outputs if isinstance(one, list))
    for one in listed:
        if one["principalId"] != object_id(number) or one["condition"]:
            continue
        blocks = CUSTOM_PERMISSIONS if one["roleDefinitionId"].endswith(CUSTOM) else _table(one["roleDefinitionId"])
        within = one["scope"] in (SUBSCRIPTION, GROUP, CLUSTER)
        here = within or (bool(namespace) and one["scope"] == f"{CLUSTER}/namespaces/{namespace}")
        by_azure = here and shown["aadProfile"]["enableAzureRbac"]
        if by_azure and any(_covers(block, "dataActions", "notDataActions", data_action(asked)) for block in blocks):
            return True
        credential = f"{PREFIX}/listClusterAdminCredential/action"
        by_credential = within and not shown["disableLocalAccounts"]
        if by_credential and any(_covers(block, "actions", "notActions", credential) for block in blocks):
            return True
    return False


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
