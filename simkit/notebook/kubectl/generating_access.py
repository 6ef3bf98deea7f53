"""Roles and bindings that ``create`` makes of its flags.

Upstream: create_role.go, create_clusterrole.go and create_rolebinding.go in k8s.io/kubectl/pkg/cmd/create, 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any, Final

from simkit.meta.domain import RBAC_GROUP
from simkit.notebook.kubectl.client import Client, KubectlError, find_resource
from simkit.notebook.kubectl.heads import head

_VERSION: Final = f"{RBAC_GROUP}/v1"
_VERBS: Final = frozenset(
    (
        *("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
        *("use", "bind", "escalate", "impersonate", "approve", "sign", "*"),
    )
)


def role(client: Client, kind: str, name: str, args: Namespace) -> dict[str, Any]:
    """A role: one rule for each API group of its resources. A cluster role may name paths, or gather other roles."""
    shown = "Role" if kind == "role" else "ClusterRole"
    if args.aggregation_rule:
        labels = dict([args.aggregation_rule.split("=", 1)])
        return {**head(_VERSION, shown, name), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": labels}]}}
    verbs, words = _split(args.verb), _split(args.resource)
    paths = _split(args.non_resource_url) if kind == "clusterrole" else []
    if not verbs:
        raise KubectlError("error: at least one verb must be specified")
    client.warnings.extend(f"'{verb}' is not a standard resource verb" for verb in verbs if verb not in _VERBS)
    if not words and not paths:
        raise KubectlError("error: at least one resource must be specified")
    groups: dict[str, list[str]] = {}
    for word in words:
        group, resource = _resource(client, word)
        groups.setdefault(group, []).append(resource)
    names = {"resourceNames": _split(args.resource_name)} if args.resource_name else {}
    rules: list[dict[str, Any]] = [
        {"apiGroups": [group], "resources": groups[group], **names, "verbs": verbs} for group in sorted(groups)
    ]
    rules += [{"nonResourceURLs": paths, "verbs": verbs}] if paths else []
    return {**head(_VERSION, shown, name), "rules": rules}


def _split(given: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(part for each in given for part in each.split(",") if part))


def _resource(client: Client, word: str) -> tuple[str, str]:
    """The group of a resource, and its name with the subresource. Raises KubectlError for what is not served."""
    whole, slash, part = word.partition("/")
    if whole == "*":
        return "*", word
    found = find_resource(client.catalogue, whole)
    if found is None:
        raise KubectlError(f'the server doesn\'t have a resource type "{whole}"')
    return found.group, f"{found.resource}{slash}{part}"


def binding(client: Client, kind: str, name: str, args: Namespace) -> dict[str, Any]:
    """A binding of users, groups and service accounts to a role."""
    if kind == "clusterrolebinding" and not args.clusterrole:
        raise KubectlError('error: required flag(s) "clusterrole" not set')
    if bool(args.role) is bool(args.clusterrole):
        raise KubectlError("error: exactly one of clusterrole or role must be specified")
    reference = ("ClusterRole", args.clusterrole) if args.clusterrole else ("Role", args.role)
    subjects: list[dict[str, str]] = []
    for word, names in (("User", args.user), ("Group", args.group)):
        subjects += [{"kind": word, "apiGroup": RBAC_GROUP, "name": each} for each in names]
    for account in args.serviceaccount:
        namespace, colon, own = account.partition(":")
        if not (namespace and colon and own):
            raise KubectlError("error: serviceaccount must be <namespace>:<name>")
        subjects.append({"kind": "ServiceAccount", "namespace": namespace, "name": own})
    shown = "RoleBinding" if kind == "rolebinding" else "ClusterRoleBinding"
    role_reference = {"apiGroup": RBAC_GROUP, "kind": reference[0], "name": reference[1]}
    return {**head(_VERSION, shown, name), "roleRef": role_reference, "subjects": subjects}
