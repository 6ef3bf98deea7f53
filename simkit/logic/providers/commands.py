"""The commands of providers that change what only their own API can change."""

from __future__ import annotations

from simkit.meta.names import Key
from simkit.present.escaping import shell_command


def disassociation(binding: Key, cluster: str = "") -> str:
    """The AWS CLI command that takes the access policy of an access entry away, quoted for a shell."""
    principal, _, name = binding.name.removesuffix(")").partition(" (")
    policy = f"arn:{principal.split(':')[1]}:eks::aws:cluster-access-policy/{name}"
    words = ("--cluster-name", cluster or "CLUSTER", "--principal-arn", principal, "--policy-arn", policy)
    return shell_command("aws", "eks", "disassociate-access-policy", *words)
