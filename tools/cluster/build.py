"""Objects as a server would store them, made in a few words each."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from simkit.meta.domain import EXTENSIONS_GROUP, RBAC_GROUP, api_group, label

Obj = dict[str, Any]
Rule = dict[str, list[str]]
CLUSTER = ""


def made(api_version: str, kind: str, name: str, namespace: str = CLUSTER, /, **fields: Any) -> Obj:
    """An object; ``labels`` and ``annotations`` among the fields go into its metadata."""
    metadata: Obj = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    for field in ("labels", "annotations"):
        value = fields.pop(field, None)
        if value:
            metadata[field] = dict(value)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


_PROJECT_GROUPS = frozenset(
    (
        "admissionregistration",
        "apiextensions",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "metrics",
        "networking",
        "rbac.authorization",
        "scheduling",
        "storage",
    )
)


def full_group(word: str) -> str:
    """The group that a word means: ``core``, one of the project's own without its domain, or itself."""
    if word in _PROJECT_GROUPS:
        return api_group(word)
    return "" if word == "core" else word


# Access control


def rule(verbs: str, resources: str, *, group: str = "", names: Sequence[str] = ()) -> Rule:
    """A rule; words are separated by spaces, groups are named as ``full_group`` takes them."""
    groups = [full_group(word) for word in group.split()] or [""]
    found: Rule = {"apiGroups": groups, "resources": resources.split(), "verbs": verbs.split()}
    return {**found, "resourceNames": list(names)} if names else found


def paths(verbs: str, urls: str) -> Rule:
    """A rule about paths that are no resources."""
    return {"nonResourceURLs": urls.split(), "verbs": verbs.split()}


def cluster_role(name: str, *rules: Rule, **metadata: Mapping[str, str]) -> Obj:
    return made(f"{RBAC_GROUP}/v1", "ClusterRole", name, **metadata, rules=list(rules))


def role(name: str, namespace: str, *rules: Rule, **metadata: Mapping[str, str]) -> Obj:
    return made(f"{RBAC_GROUP}/v1", "Role", name, namespace, **metadata, rules=list(rules))


def user(name: str) -> Obj:
    return {"apiGroup": RBAC_GROUP, "kind": "User", "name": name}


def group(name: str) -> Obj:
    return {"apiGroup": RBAC_GROUP, "kind": "Group", "name": name}


def account(namespace: str, name: str) -> Obj:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def bound(name: str, role_name: str, *subjects: Obj, **metadata: Mapping[str, str]) -> Obj:
    """A cluster role bound everywhere."""
    ref = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role_name}
    return _binding(made(f"{RBAC_GROUP}/v1", "ClusterRoleBinding", name, **metadata, roleRef=ref), subjects)


def bound_in(namespace: str, name: str, kind: str, role_name: str, *subjects: Obj) -> Obj:
    """A role, or a cluster role, bound in one namespace."""
    ref = {"apiGroup": RBAC_GROUP, "kind": kind, "name": role_name}
    return _binding(made(f"{RBAC_GROUP}/v1", "RoleBinding", name, namespace, roleRef=ref), subjects)


def _binding(binding: Obj, subjects: Sequence[Obj]) -> Obj:
    return {**binding, "subjects": list(subjects)} if subjects else binding


# Namespaces and what lies in them


def namespace(name: str, **labels: str) -> Obj:
    found = {label("metadata.name"): name, **labels}
    return made("v1", "Namespace", name, labels=found, spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"})


def service_account(name: str, namespace: str, **labels: str) -> Obj:
    return made("v1", "ServiceAccount", name, namespace, labels=labels)


def config_map(name: str, namespace: str, **data: str) -> Obj:
    return made("v1", "ConfigMap", name, namespace, data=data)


def secret(name: str, namespace: str, *keys: str, kind: str = "Opaque") -> Obj:
    """A secret whose values all are the word dummy."""
    value = base64.b64encode(b"dummy").decode()
    return made("v1", "Secret", name, namespace, data=dict.fromkeys(keys, value), type=kind)


def service(name: str, namespace: str, port: int, address: str) -> Obj:
    ports = [{"name": "http", "port": port, "protocol": "TCP", "targetPort": port}]
    spec = {
        "clusterIP": address,
        "clusterIPs": [address],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": ports,
        "selector": {"app": name},
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    return made("v1", "Service", name, namespace, labels={"app": name}, spec=spec, status={"loadBalancer": {}})


def definition(group: str, kind: str, plural: str, *, namespaced: bool = True) -> Obj:
    """A custom resource definition whose objects may have any fields."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}, "served": True, "storage": True}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    spec = {
        "conversion": {"strategy": "None"},
        "group": group,
        "names": names,
        "scope": "Namespaced" if namespaced else "Cluster",
        "versions": [version],
    }
    conditions = [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]
    status = {"acceptedNames": names, "conditions": conditions, "storedVersions": ["v1"]}
    return made(f"{EXTENSIONS_GROUP}/v1", "CustomResourceDefinition", f"{plural}.{group}", spec=spec, status=status)


def webhook(kind: str, name: str, service: str, namespace: str, operations: str, resources: str, group: str) -> Obj:
    """A webhook configuration (``Mutating...`` or ``Validating...``) that calls a service of an operator."""
    rules = [
        {
            "apiGroups": [full_group(word) for word in group.split()],
            "apiVersions": ["*"],
            "operations": operations.split(),
            "resources": resources.split(),
            "scope": "*",
        }
    ]
    hook = {
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": service, "namespace": namespace, "path": "/admit", "port": 443}},
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "name": f"{name}.{namespace}.svc",
        "namespaceSelector": {},
        "objectSelector": {},
        "rules": rules,
        "sideEffects": "None",
        "timeoutSeconds": 10,
    }
    if kind.startswith("Mutating"):
        hook["reinvocationPolicy"] = "Never"
    return made(f"{api_group('admissionregistration')}/v1", kind, name, webhooks=[hook])
