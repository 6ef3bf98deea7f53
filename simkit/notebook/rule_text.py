"""The rule behind a row of an answer, as YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.analysis.access.grant_table import NO_BINDING
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.names import GroupResource
from simkit.meta.objects import at
from simkit.meta.visible_text import html_text
from simkit.notebook.object_text import object_yaml
from simkit.seams.snapshot import Snapshot

_ROLES: Final = {
    "Role": GroupResource(RBAC_GROUP, "roles"),
    "ClusterRole": GroupResource(RBAC_GROUP, "clusterroles"),
}


_NEEDS_NONE: Final = "<p>No binding or rule is needed: members of system:masters can do anything.</p>"


def rule_html(snapshot: Snapshot, row: Mapping[str, Any]) -> str:
    """The rule that gives a grant, under its binding and role; a sentence for a row that needs none, else empty."""
    if row.get("binding") == NO_BINDING:
        return _NEEDS_NONE
    resource = _ROLES.get(str(row.get("role_kind", "")))
    number = int(row["rule"]) if resource is not None else -1
    if resource is None or number < 0:
        return ""
    namespace = str(row.get("scope", "")) if resource.resource == "roles" else ""
    role = snapshot.get(resource, str(row["role"]), namespace)
    rules = at(role, "rules") if role is not None else None
    if not isinstance(rules, list) or number >= len(rules):
        return ""
    head = f"{row['binding_kind']} {row['binding']} grants {row['role_kind']} {row['role']}, rule {number}"
    return f"<p><b>{html_text(head)}</b></p><pre>{html_text(object_yaml(rules[number]))}</pre>"
