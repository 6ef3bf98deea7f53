"""One rule of a role, and its form in an API object.

PolicyRule in k8s.io/api/rbac/v1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object

ALL = "*"
"""The wildcard of verbs, groups, resources and paths."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The verbs that a role allows on resources (of groups, perhaps of some names) or on paths."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """The non-resource URLs."""

    @classmethod
    def of(cls, entry: Object) -> Rule:
        """The rule that an entry of ``rules`` states.

        Examples
        --------
        >>> print(Rule.of({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}))
        {APIGroups:[""], Resources:["pods"], Verbs:["get"]}
        """
        return cls(
            tuple(entry.get("verbs") or ()),
            tuple(entry.get("apiGroups") or ()),
            tuple(entry.get("resources") or ()),
            tuple(entry.get("resourceNames") or ()),
            tuple(entry.get("nonResourceURLs") or ()),
        )

    def entry(self) -> dict[str, Any]:
        """The rule as an entry of ``rules``, its fields in the order of the Go structure."""
        optional = {
            "apiGroups": self.api_groups,
            "resources": self.resources,
            "resourceNames": self.resource_names,
            "nonResourceURLs": self.paths,
        }
        return {"verbs": list(self.verbs), **{name: list(values) for name, values in optional.items() if values}}

    def __str__(self) -> str:
        """The rule as the 403 of an escalation names it."""
        parts = {
            "APIGroups": self.api_groups,
            "Resources": self.resources,
            "NonResourceURLs": self.paths,
            "ResourceNames": self.resource_names,
            "Verbs": self.verbs,
        }
        shown = (f"{name}:{quoted_list(values)}" for name, values in parts.items() if values)
        return "{" + ", ".join(shown) + "}"


def quoted_list(texts: tuple[str, ...]) -> str:
    """Texts as Go's ``%q`` prints a list of strings: quoted, separated by single spaces, in brackets."""
    return f"[{' '.join(map(quoted, texts))}]"


def rules_of(role: Object) -> tuple[Rule, ...]:
    """The rules of a Role or ClusterRole."""
    return tuple(Rule.of(entry) for entry in role.get("rules") or ())
