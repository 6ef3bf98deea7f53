"""Small dumps, and what loading tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.meta.names import GroupResource
from simkit.snapshot.dump import Dump

RBAC = "rbac.authorization.k8s.io"
ROLES = GroupResource(RBAC, "roles")
PODS = GroupResource("", "pods")
SECRETS = GroupResource("", "secrets")


def role(name: str, namespace: str = "kube-system") -> dict[str, Any]:
    return {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": name, "namespace": namespace}, "rules": []}


def pod(name: str, namespace: str = "shop") -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "creationTimestamp": "2024-04-17T10:00:00Z"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta}


def listed(*items: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(items), **more}


def names(dump: Dump) -> list[str]:
    return [key.name for key in dump.keyed]


def told(dump: Dump) -> str:
    return "\n".join(map(str, dump.problems))


TWO = listed(pod("a"), pod("b"))
