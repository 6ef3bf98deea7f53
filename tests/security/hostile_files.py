"""The files that the hostile command lines name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from tools.make_hostile_cluster import PAYLOADS

NODE: Final = PAYLOADS["terminal-title"]
_METRIC: Final = "apiserver_requested_deprecated_apis"
_EMPTY: Final = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
_TEXTS: Final = list(PAYLOADS.values())


def write_hostile_files(folder: Path) -> dict[str, str]:
    """The words of command lines, and what stands for them: paths of files, and some names."""
    old = [*map(_definition, _TEXTS), *map(_ingress, _TEXTS)]
    small = [_EMPTY, *map(_access, ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"))]
    documents: dict[str, Iterable[Any]] = {
        "EMPTY": [_EMPTY],
        "SMALL": small,
        "OLD": old,
        "TO/OLD.yaml": old,
        "NEW": [_definition(text, kind="integer") for text in _TEXTS],
        "SUITE": [{"expectations": list(map(_expectation, _TEXTS))}],
        "SUPPRESSED": [{"suppressions": [{"reason": text, "subject": text} for text in _TEXTS if text.strip(" *")]}],
        "ACCEPTED": [{"suppressions": [{"reason": text, "name": text} for text in _TEXTS if text.strip(" *")]}],
        "RULES": [{"rules": [_rule(text) for text in _TEXTS[:1]]}],
        "HISTORY": [_history()],
        "NODES": [_EMPTY, *map(_node, _TEXTS), *map(_pod, _TEXTS)],
        "GRANT": [_grant(text) for text in _TEXTS],
        "PLANNED": [*map(_grant, _TEXTS), *map(_pod, _TEXTS), *map(_planned, _TEXTS)],
    }
    texts: dict[str, bytes] = {name: yaml.safe_dump_all(some).encode() for name, some in documents.items()}
    texts["LOG"] = b"\n".join(orjson.dumps(_event(text)) for text in _TEXTS)
    texts["METRICS"] = f"# TYPE {_METRIC} gauge\n{''.join(map(_metric, _TEXTS))}".encode()
    texts["MEMBERS"] = yaml.safe_dump({text: [f"user:{text}"] for text in _TEXTS}).encode()
    texts["EXPORT"] = b"\n".join(map(orjson.dumps, _export()))
    texts["GKE"] = b"\n".join(map(orjson.dumps, _export_of_gke()))
    texts["AKS"] = b"\n".join(map(orjson.dumps, _export_of_aks()))
    texts["KEY"] = b"key"
    (folder / "TO").mkdir()
    for name, content in texts.items():
        (folder / name).write_bytes(content)
    files = {name: str(folder / name) for name in (*texts, "TO")}
    return files | {"STORE": f"sqlite:{folder / 'saved.db'}", "NODE": NODE, "ZONE": NODE, "GROUP": "shop.example.com"}


def _export() -> list[Any]:
    """An export of EKS with a role for each text that somebody chose: as its user name and as its group."""
    roles = {f"arn:aws:iam::111122223333:role/r{number}": text for number, text in enumerate(_TEXTS)}
    policy = {"policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSAdminViewPolicy"}
    found: list[Any] = [{"cluster": {"name": _TEXTS[0], "accessConfig": {"authenticationMode": _TEXTS[0]}}}]
    for role, text in roles.items():
        scope = {"type": "namespace", "namespaces": [text]}
        found.append({"accessEntry": {"principalArn": role, "username": text, "kubernetesGroups": [text]}})
        found.append({"principalArn": role, "associatedAccessPolicies": [{**policy, "accessScope": scope}]})
    return [*found, {"accessEntries": [*roles, text]}, {text: text}]


def _export_of_gke() -> list[Any]:
    """An export of GKE with a grant for each text that somebody chose: as member, role, condition and place."""
    link = "https://container.googleapis.com/v1/projects/p/locations/l/clusters/c"
    found: list[Any] = [{"name": _TEXTS[0], "selfLink": link, "currentMasterVersion": _TEXTS[0]}]
    for number, text in enumerate(_TEXTS):
        bindings = [
            {"role": "roles/container.viewer", "members": [f"user:u{number}@e.example", f"group:{text}"]},
            {"role": "roles/owner", "members": ["user:u@e.example"], "condition": {"title": text, "expression": text}},
            {"role": text, "members": [text, f"principal://{text}", f"domain:{text}"]},
        ]
        found += [{"id": f"{number}{one}", "type": "folder", "policy": {"bindings": [one]}} for one in bindings]
        found.append({"name": "groups/1/memberships/1", "preferredMemberKey": {"id": text}})
    return [*found, {"id": "p", "type": "project", "policy": {}}, {"name": text, "includedPermissions": [text]}]


def _export_of_aks() -> list[Any]:
    """An export of AKS with an assignment for each text that somebody chose: as name, role, scope and condition."""
    cluster = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c"
    found: list[Any] = [
        {"id": cluster, "name": _TEXTS[0], "nodeResourceGroup": "x", "aadProfile": {"enableAzureRbac": True}}
    ]
    for number, text in enumerate(_TEXTS):
        role = f"0000{number:04d}-aaaa-4bbb-8ccc-dddd00000000"
        one = {"principalId": role, "roleDefinitionId": role, "principalType": "User", "scope": cluster}
        found += [
            {"name": role, "roleName": text, "permissions": [{"dataActions": ["*"]}]},
            {"name": role, "roleName": f"r{number}", "permissions": [{"dataActions": [text, "*"]}]},
            {**one, "principalName": text},
            {**one, "principalName": "a@b.example", "scope": f"{cluster}/namespaces/{text}"},
            {**one, "principalType": text, "principalName": "c@d.example", "condition": text},
            {"id": text, "clientId": text, "principalId": text},
        ]
    return found


def _planned(text: str) -> dict[str, Any]:
    """A ConfigMap whose labels, data and fields nobody knows are texts that somebody chose."""
    meta = {"name": "hostile", "namespace": text, "labels": {text: text}, "annotations": {text: text}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {text: text}, text: text}


def _definition(text: str, kind: str = "string") -> dict[str, Any]:
    """A definition in which whatever can be chosen was chosen, changed where its fields are of another type."""
    schema = {"type": "object", "properties": {text: {"type": kind, "enum": [text], "description": text}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": text, "kind": text, "singular": text, "shortNames": [text]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": text},
        "spec": {"group": text, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _ingress(text: str) -> dict[str, Any]:
    backend = {"serviceName": text, "servicePort": text}
    spec = {"rules": [{"host": text, "http": {"paths": [{"path": text, "backend": backend}]}}]}
    meta = {"name": text, "namespace": text, "annotations": {text: text}}
    return {"apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": meta, "spec": spec}


def _event(text: str) -> dict[str, Any]:
    where = {"resource": "secrets", "namespace": text, "name": text, "apiVersion": "v1"}
    user = {"username": text, "groups": [text, "system:authenticated"]}
    event = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete", "verb": "get", "user": user}
    return {**event, "userAgent": text, "objectRef": where, "responseStatus": {"code": 200}}


def _access(kind: str) -> dict[str, Any]:
    """A role without rules, or a binding of it without subjects."""
    metadata = {"name": "none"} if kind.startswith("Cluster") else {"name": "none", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind.removesuffix("Binding"), "name": "none"}
    what: dict[str, Any] = {"roleRef": role} if kind.endswith("Binding") else {"rules": []}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, **what}


def _expectation(text: str) -> dict[str, Any]:
    return {"name": text, "cannot": {"subject": f"user:{text}", "verb": "get", "resource": "secrets"}}


def _rule(text: str) -> dict[str, Any]:
    when = {"each": "grant", "when": "subject.kind == 'User'", "message": "subject.text + ' has ' + role.name"}
    return {"id": "own", "title": text, "severity": "high", **when}


def _history() -> dict[str, Any]:
    """Versions that break rules of the deprecation policy, with names of the payloads."""
    versions = [
        {"name": "v1beta1", "introduced": "1.28", "deprecated": "1.29", "removed": "1.30", "replacement": text}
        for text in _TEXTS
    ]
    groups = [{"name": text, "versions": [one]} for text, one in zip(_TEXTS, versions)]
    own = {"name": "shop.example.com", "versions": [{"name": "v1beta1", "introduced": "1.28"}]}
    return {"groups": [own, *groups]}


def _node(text: str) -> dict[str, Any]:
    labels = {"topology.kubernetes.io/zone": text, "kubernetes.io/hostname": text}
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": text, "uid": text, "labels": labels},
        "status": status,
    }


def _pod(text: str) -> dict[str, Any]:
    meta = {"name": text, "namespace": "default", "uid": text, "labels": {"app": text}}
    spec = {"nodeName": text, "containers": [{"name": text, "image": text}]}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def _grant(text: str) -> dict[str, Any]:
    """A binding that the server takes, of a subject whose name was chosen."""
    subject = {"kind": "User", "name": text, "apiGroup": "rbac.authorization.k8s.io"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    metadata = {"name": f"grant-{_TEXTS.index(text)}"}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
    return {**kind, "metadata": metadata, "roleRef": role, "subjects": [subject]}


def _metric(text: str) -> str:
    shown = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", " ")
    labels = f'group="{shown}",removed_release="1.32",resource="{shown}",subresource="{shown}",version="v1beta3"'
    return f"{_METRIC}{{{labels}}} 1\n"
