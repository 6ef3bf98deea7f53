"""One rule of a role, its form in an API object, and its matching against a request.

PolicyRule in k8s.io/api/rbac/v1; pkg/apis/rbac/v1/evaluation_helpers.go, release 1.30.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from simkit.meta.attributes import Attributes
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object

ALL = "*"
"""The wildcard of verbs, groups, resources and paths."""


class Rule(NamedTuple):
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


def rule_allows(rule: Rule, ask: Attributes) -> bool:
    """True if the rule allows the request in the scope of its binding.

    Examples
    --------
    >>> from simkit.meta.identity import Identity
    >>> ask = Attributes(Identity("ann"), "get", resource="pods", subresource="exec", namespace="x", name="p")
    >>> rule_allows(Rule(("*",), ("",), ("*/exec",)), ask), rule_allows(Rule(("*",), ("",), ("pods/*",)), ask)
    (True, False)
    """
    if not verb_matches(rule, ask.verb):
        return False
    if not ask.is_resource:
        return path_matches(rule, ask.path)
    return (
        group_matches(rule, ask.group)
        and resource_matches(rule, ask.resource_path, ask.subresource)
        and name_matches(rule, ask.name)
    )


def verb_matches(rule: Rule, verb: str) -> bool:
    """True if the rule names the verb or all verbs. Case counts."""
    return verb in rule.verbs or ALL in rule.verbs


def group_matches(rule: Rule, group: str) -> bool:
    """True if the rule names the API group or all groups."""
    return group in rule.api_groups or ALL in rule.api_groups


def resource_matches(rule: Rule, path: str, subresource: str) -> bool:
    """True if the rule names the resource (``pods`` or ``pods/log``), all resources, or the subresource of all.

    ``pods/*`` is no wildcard: it matches only a subresource which is really called ``*``.
    """
    if path in rule.resources or ALL in rule.resources:
        return True
    return bool(subresource) and f"*/{subresource}" in rule.resources


def name_matches(rule: Rule, name: str) -> bool:
    """True if the rule holds for every name or for this one. A request without a name has the empty one."""
    return not rule.resource_names or name in rule.resource_names


def path_matches(rule: Rule, path: str) -> bool:
    """True if the rule names the path, or a beginning of it that ends in a star."""
    return any(path_covers(pattern, path) for pattern in rule.paths)


def path_covers(pattern: str, path: str) -> bool:
    """True if a path pattern holds for a path (or includes another pattern).

    Examples
    --------
    >>> path_covers("/healthz/*", "/healthz/ping"), path_covers("/a*/b", "/ax/b")
    (True, False)
    """
    return pattern == path or (pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL)))
