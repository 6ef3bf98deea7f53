"""Normalization and validation of the rules of roles.

Follows ``pkg/apis/rbac/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.go_printing.syntax import texts
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.objects import Draft, Object

_OPTIONAL: Final = ("apiGroups", "resources", "resourceNames", "nonResourceURLs")


def normalize_rules(draft: Draft, old: Object | None) -> None:
    """Set empty rules to null, as they are stored, and drop empty lists within a rule."""
    rules = draft.get("rules") or ()
    draft["rules"] = [_normalized(rule) for rule in rules] or None


def validate_rules(role: Object, *, namespaced: bool) -> Sequence[FieldError]:
    """The errors of the rules of a role."""
    rules = enumerate(role.get("rules") or ())
    return [error for index, rule in rules for error in _validate_fields(rule, f"rules[{index}]", namespaced)]


def _normalized(rule: Object) -> Draft:
    kept = {name: rule[name] for name in _OPTIONAL if rule.get(name)}
    return {"verbs": rule.get("verbs") or None, **kept}


def _validate_fields(rule: Object, path: str, namespaced: bool) -> Iterator[FieldError]:
    if not rule.get("verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        shown = texts(urls)
        if namespaced:
            yield invalid_value(f"{path}.nonResourceURLs", shown, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid_value(f"{path}.nonResourceURLs", shown, text)
        return
    if not rule.get("apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")
