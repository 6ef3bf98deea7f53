"""The commands of providers that change what only their own API can change."""

from __future__ import annotations

from typing import Final

from simkit.logic.rbac.binding import ACCESS_ENTRIES
from simkit.meta.names import Key
from simkit.present.escaping import shell_command
from simkit.seams.authorization import PRINCIPAL, ProviderAccess

_POLICIES_OF: Final = {
    "projects": ("projects",),
    "folders": ("resource-manager", "folders"),
    "organizations": ("organizations",),
}
"""The words of gcloud for the places of allow policies."""


def disassociation(binding: Key, cluster: str = "") -> str:
    """The provider's command that takes one of its grants away, quoted for a shell."""
    principal, _, rest = binding.name.partition(" (")
    name, _, place = rest.rpartition(")")
    place = place.removeprefix(" in ").removeprefix(" at ")
    provider = ACCESS_ENTRIES[binding.resource]
    if provider == "EKS":
        policy = f"arn:{principal.split(':')[1]}:eks::aws:cluster-access-policy/{name}"
        words = ("--cluster-name", cluster or "CLUSTER", "--principal-arn", principal, "--policy-arn", policy)
        return shell_command("aws", "eks", "disassociate-access-policy", *words)
    if provider == "GKE":
        where, _, group = place.partition(" by ")
        kind, _, number = where.partition("/")
        resource = _POLICIES_OF.get(kind, ("projects",))
        told: tuple[str, ...] = (number or "PROJECT", "--member", group or principal, "--role", name)
        return shell_command("gcloud", *resource, "remove-iam-policy-binding", *told)
    if place.startswith("by "):
        return shell_command(
            "az", "aks", "update", "--aad-admin-group-object-ids", "IDS", "--name", cluster or "CLUSTER"
        )
    told = ("--assignee", principal, "--role", name, "--scope", place)
    return shell_command("az", "role", "assignment", "delete", *told)


def grouping(access: ProviderAccess, name: str) -> str:
    """The provider's command that puts a principal into a group, quoted for a shell; empty where it has none."""
    if access.provider != "EKS":
        return ""
    words = ("--cluster-name", access.cluster or "CLUSTER", "--principal-arn", name.removeprefix(PRINCIPAL))
    return shell_command("aws", "eks", "update-access-entry", *words, "--kubernetes-groups", "GROUP")
