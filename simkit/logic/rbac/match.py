"""Matching of a rule against a request.

VerbMatches, APIGroupMatches, ResourceMatches, ResourceNameMatches and NonResourceURLMatches in
pkg/apis/rbac/v1/evaluation_helpers.go, release 1.30.
"""

from __future__ import annotations

from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.attributes import Attributes


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
