"""PodDisruptionBudget: an empty selector selected nothing in v1beta1 and selects everything in v1."""

from __future__ import annotations

from typing import Any, Final

from simkit.kinds.conversions.editing import peek
from simkit.kinds.conversions.family import Family, Form
from simkit.meta.domain import label
from simkit.meta.objects import Draft

MARK: Final = label("deprecated-v1beta1-empty-selector-match", "pdb")
"""A label that no pod has: selecting by its presence selects nothing, by its absence everything."""
_NOTHING: Final = {"key": MARK, "operator": "Exists"}
_EVERYTHING: Final = {"key": MARK, "operator": "DoesNotExist"}


def _selector(draft: Draft) -> dict[str, Any] | None:
    selector = peek(draft, "spec").get("selector")
    return selector if isinstance(selector, dict) else None


def _is_empty(selector: dict[str, Any]) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def _only(selector: dict[str, Any], expression: dict[str, str]) -> bool:
    found = selector.get("matchExpressions") or []
    same = len(found) == 1 and {key: value for key, value in found[0].items() if value} == expression
    return same and not selector.get("matchLabels")


def _unmarked(selector: dict[str, Any]) -> None:
    """Without the mark among other expressions, where it says nothing."""
    expressions = [each for each in selector.get("matchExpressions") or [] if each.get("key") != MARK]
    if len(expressions) != len(selector.get("matchExpressions") or []):
        if expressions:
            selector["matchExpressions"] = expressions
        else:
            selector.pop("matchExpressions")


def _to_hub(draft: Draft) -> None:
    selector = _selector(draft)
    if selector is None or _only(selector, _NOTHING):
        return
    if _is_empty(selector):
        selector["matchExpressions"] = [dict(_NOTHING)]
    else:
        _unmarked(selector)


def _from_hub(draft: Draft) -> None:
    selector = _selector(draft)
    if selector is None:
        return
    if _is_empty(selector):
        selector["matchExpressions"] = [dict(_EVERYTHING)]
    else:
        _unmarked(selector)


FAMILIES: Final = {
    "PodDisruptionBudget": Family("PodDisruptionBudget", "policy/v1", {"policy/v1beta1": Form(_to_hub, _from_hub)})
}
