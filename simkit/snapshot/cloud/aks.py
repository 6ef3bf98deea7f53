"""The access that AKS grants by Azure: role assignments, credentials of administrators, and workload identity.

A request is allowed if Kubernetes RBAC or, where the cluster has it enabled, Azure RBAC allows it. Users have their
user principal name in the cluster, guests and applications their object id, and groups their object id.

References
----------
"Cluster authorization concepts", "Use Microsoft Entra ID authorization for the Kubernetes API", "Limit access to
cluster configuration file", "Manage local accounts", "Use Microsoft Entra Workload ID" in the documentation of Azure
Kubernetes Service; "Understand scope for Azure RBAC"; datasets/providers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from simkit.snapshot.cloud.aks_denials import (
    DenyAssignment,
    Principal,
    condition_of,
    deny_assignments,
    is_deny_assignment,
)
from simkit.snapshot.cloud.aks_roles import Role, permissions_of
from simkit.snapshot.cloud.output import (
    FOLDER,
    Unexpected,
    mappings,
    optional_text,
    text,
    texts,
)

_MEMBER: Final = "#microsoft.graph."
_LEVELS: Final = 6
"""The levels of an output that are looked at."""
_CLUSTER: Final = re.compile(r"/providers/microsoft\.containerservice/managedclusters/[^/]+$", re.ASCII)
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)

COMMANDS: Final = f"""\
: "${{GROUP:?set GROUP to the resource group of the AKS cluster}}"
: "${{CLUSTER:?set CLUSTER to the name of the AKS cluster}}"
mkdir -p {FOLDER}
az aks show --resource-group "$GROUP" --name "$CLUSTER" --output json > {FOLDER}/cluster.json
id=$(az aks show --resource-group "$GROUP" --name "$CLUSTER" --query id --output tsv)
az role assignment list --scope "$id" --include-inherited --output json > {FOLDER}/assignments.json
az role assignment list --all --query "[?starts_with(scope, '$id/')]" --output json > {FOLDER}/namespaces.json
teams="principalType=='Group'"
{{ az role assignment list --scope "$id" --include-inherited --query "[?$teams].principalId" --output tsv
az role assignment list --all --query "[?starts_with(scope, '$id/') && $teams].principalId" --output tsv
}} | sort -u | while read -r team; do
  az ad group member list --group "$team" --output json > "{FOLDER}/$team.json"
done
az rest --method get --url "https://management.azure.com$id/providers/Microsoft.Authorization/denyAssignments\
?api-version=2024-07-01-preview" > {FOLDER}/deny-assignments.json
az role definition list --scope "$id" --output json > {FOLDER}/roles.json
az identity list --output json > {FOLDER}/identities.json
{{ printf '[\\n]\\n'
az identity list --query '[].[name, resourceGroup]' --output tsv | while read -r name group; do
  az identity federated-credential list --identity-name "$name" --resource-group "$group" --output json
done; }} > {FOLDER}/federated-credentials.json
"""
"""The shell commands that write the export of an AKS cluster into a folder."""


class Assignment(NamedTuple):
    """A role assignment: the principal, role, scope, and its condition."""

    who: Principal
    role: str
    role_name: str
    scope: str
    condition: str


@dataclass
class AksExport:
    """What the outputs say, before it is known what the cluster makes of it."""

    provider: str = "AKS"
    names: dict[str, None] = field(default_factory=dict)
    cluster: Mapping[str, Any] = field(default_factory=dict)
    assignments: dict[Assignment, None] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    """Described roles by their ids."""
    identities: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The client id and the object id of each managed identity, by its resource id in small letters."""
    trusted: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """The issuers and subjects that the federated credentials of an identity trust, by its resource id."""
    members: dict[str, dict[Principal, None]] = field(default_factory=dict)
    """The members of groups, by the object id of the group."""
    denials: dict[DenyAssignment, None] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    @property
    def modes(self) -> tuple[str, ...]:
        """The authorizers besides Azure; a cluster without RBAC restricts nobody."""
        return ("AlwaysAllow",) if field_of(self.cluster, "enableRbac", "enableRBAC") is False else ("Node", "RBAC")

    def take(self, output: Mapping[str, Any], file: str) -> bool:
        """Read one output, of the Azure CLI or of the REST API; False if it is none of AKS or Azure RBAC."""
        inner = output.get("properties")
        value = _in_camel_case({**inner, **output} if isinstance(inner, Mapping) else output)
        if "nodeResourceGroup" in value or _CLUSTER.search(str(value.get("id")).lower()):
            self.names[text(value, "id").lower()] = None
            self.cluster = value
        elif "roleDefinitionId" in value and "principalId" in value:
            self.assignments[_assignment(value)] = None
        elif is_deny_assignment(value):
            self.denials |= dict.fromkeys(tuple(deny_assignments(value)))
        elif "permissions" in value and ("roleName" in value or "assignableScopes" in value):
            self._take_role(value)
        elif "clientId" in value and "principalId" in value:
            self.identities[text(value, "id").lower()] = (text(value, "clientId"), text(value, "principalId").lower())
        elif str(value.get("@odata.type")).startswith(_MEMBER) and is_id(PurePath(file).stem.lower()):
            member, members = _member(value), self.members.setdefault(PurePath(file).stem.lower(), {})
            if member.kind in ("User", "ServicePrincipal", "Group"):  # devices and contacts send no requests
                members[member] = None
        elif "issuer" in value and "subject" in value:
            identity = text(value, "id").lower().partition("/federatedidentitycredentials/")[0]
            self.trusted.setdefault(identity, []).append((text(value, "issuer"), text(value, "subject")))
        else:
            return False
        return True

    def _take_role(self, value: Mapping[str, Any]) -> None:
        blocks = mappings(value, "permissions")
        for block in blocks:
            for name in ("actions", "notActions", "dataActions", "notDataActions"):
                texts(block, name, optional=True)
        number = (optional_text(value, "id") or text(value, "name")).lower().rpartition("/")[2]
        if not is_id(number):
            raise Unexpected(f"{number!r} is not the id of a role")
        permissions = tuple(permissions_of(one, condition_of(one)) for one in blocks)
        self.roles[number] = Role(text(value, "roleName"), permissions)


def is_id(text: str) -> bool:
    """True for the id of a principal or a role, in small letters."""
    return bool(_ID.fullmatch(text))


def _in_camel_case(value: Any, levels: int = _LEVELS) -> Any:
    """A value with the names of its fields as the REST API has them: the SDK for Python writes ``principal_id``."""
    if not levels:
        return value
    if isinstance(value, Mapping):
        return {
            re.sub(r"(?<=[a-z])_([a-z])", lambda found: found[1].upper(), str(name)): _in_camel_case(one, levels - 1)
            for name, one in value.items()
        }
    return [_in_camel_case(one, levels - 1) for one in value] if isinstance(value, list) else value


def field_of(value: Mapping[str, Any], *names: str) -> Any:
    """The field by the first of its names that is there: the Azure CLI and the REST API spell some differently."""
    return next((value[name] for name in names if name in value), None)


def _assignment(value: Mapping[str, Any]) -> Assignment:
    principal, role = text(value, "principalId").lower(), text(value, "roleDefinitionId").lower().rpartition("/")[2]
    if not (is_id(principal) and is_id(role)):
        raise Unexpected(f"{principal!r} with {role!r} are not the ids of a principal and a role")
    kind, name = optional_text(value, "principalType"), optional_text(value, "principalName")
    told, scope = optional_text(value, "roleDefinitionName"), text(value, "scope").rstrip("/")
    who = Principal(principal, kind, name)
    return Assignment(who, role, told, scope, condition_of(value))


def _member(value: Mapping[str, Any]) -> Principal:
    """A member of a group, as Microsoft Graph describes it; the file of the group is named by its object id."""
    kind, principal = text(value, "@odata.type").removeprefix(_MEMBER), text(value, "id").lower()
    if not is_id(principal):
        raise Unexpected(f"{principal!r} is not the id of a principal")
    return Principal(principal, kind[:1].upper() + kind[1:], optional_text(value, "userPrincipalName"))
