"""Conversions of role bindings: v1alpha1 has a subject's version instead of its group, and a user for everybody.

Follows ``pkg/apis/rbac/v1alpha1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import SAME_FIELDS, Family, Spoke, entries
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.objects import Draft

AUTHENTICATED: Final = "system:authenticated"
_NAMES: Final = ("User", "Group")


def _to_hub(draft: Draft) -> None:
    for subject in entries(draft, "subjects"):
        version = subject.pop("apiVersion", "") or ""
        if subject.get("kind") == "User" and subject.get("name") == "*":
            subject |= {"kind": "Group", "name": AUTHENTICATED}
        if subject.get("kind") in _NAMES:
            subject["apiGroup"] = RBAC_GROUP
        elif "/" in version:
            subject["apiGroup"] = version.partition("/")[0]


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    for subject in entries(draft, "subjects"):
        group = subject.pop("apiGroup", "") or ""
        if subject.get("kind") in _NAMES:
            subject["apiVersion"] = f"{RBAC_GROUP}/v1alpha1"
        elif subject.get("kind") == "ServiceAccount":
            subject["apiVersion"] = "v1"
        elif group:
            subject["apiVersion"] = f"{group}/"


def _family(kind: str) -> Family:
    spokes = {f"{RBAC_GROUP}/v1alpha1": Spoke(_to_hub, _from_hub), f"{RBAC_GROUP}/v1beta1": SAME_FIELDS}
    return Family(kind, f"{RBAC_GROUP}/v1", spokes)


FAMILIES: Final = {kind: _family(kind) for kind in ("RoleBinding", "ClusterRoleBinding")}
