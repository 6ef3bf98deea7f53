"""Conversions of PodDisruptionBudget: an empty selector selects nothing in v1beta1 and everything in v1.

Follows ``pkg/apis/policy/v1beta1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from typing import Any, Final

from simkit.kinds.conversions.family import Family, Spoke, peek
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.objects import Draft

MARK: Final = label("deprecated-v1beta1-empty-selector-match", "pdb")
"""A label that no pod has: its presence selects nothing, its absence everything."""
_NOTHING: Final = {"key": MARK, "operator": "Exists"}
_EVERYTHING: Final = {"key": MARK, "operator": "DoesNotExist"}


def _selector(draft: Draft) -> dict[str, Any] | None:
    selector = peek(draft, "spec").get("selector")
    return selector if isinstance(selector, dict) else None


def _is_empty(selector: dict[str, Any]) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def _unmarked(selector: dict[str, Any]) -> bool:
    """Remove the marker from the expressions; True if it was required to exist."""
    found = selector.get("matchExpressions") or []
    expressions = [each for each in found if each.get("key") != MARK]
    if len(expressions) == len(found):
        return False
    selector["matchExpressions"] = expressions
    if not expressions:
        del selector["matchExpressions"]
    return any(each.get("key") == MARK and each.get("operator") == "Exists" for each in found)


def _to_hub(draft: Draft) -> None:
    selector = _selector(draft)
    if selector is None:
        return
    selects_nothing = _is_empty(selector) or _unmarked(selector)
    if selects_nothing and _is_empty(selector):
        selector["matchExpressions"] = [dict(_NOTHING)]


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    selector = _selector(draft)
    if selector is None:
        return
    selects_nothing = _unmarked(selector)
    if _is_empty(selector) and not selects_nothing:
        selector["matchExpressions"] = [dict(_EVERYTHING)]


FAMILIES: Final = {
    "PodDisruptionBudget": Family("PodDisruptionBudget", "policy/v1", {"policy/v1beta1": Spoke(_to_hub, _from_hub)})
}
