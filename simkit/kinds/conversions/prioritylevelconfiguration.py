"""Conversions of PriorityLevelConfiguration: shares got another name, and only v1 distinguishes zero from missing
shares.

Upstream: pkg/apis/flowcontrol/v1beta3/conversion.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import SAME_FIELDS, Family, Spoke, annotate, peek, rename, take_annotation
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import API_DOMAIN, api_group
from simkit.meta.objects import Draft, annotations_of

KEEP_ZERO: Final = f"flowcontrol.{API_DOMAIN}/v1beta3-preserve-zero-concurrency-shares"
"""The annotation of v1beta3 for intended zero shares."""
DEFAULT_SHARES: Final = 30
_GROUP: Final = api_group("flowcontrol.apiserver")
_OLD, _NEW = "assuredConcurrencyShares", "nominalConcurrencyShares"


def _limited(draft: Draft) -> Draft | None:
    limited = peek(draft, "spec").get("limited")
    return limited if isinstance(limited, dict) else None


def _default_old(draft: Draft) -> None:
    limited = _limited(draft)
    if limited is not None and not limited.get(_OLD):
        limited[_OLD] = DEFAULT_SHARES


def _default_v1beta3(draft: Draft) -> None:
    limited = _limited(draft)
    if limited is not None and not limited.get(_NEW):
        limited[_NEW] = 0 if KEEP_ZERO in annotations_of(draft) else DEFAULT_SHARES


def _to_hub(draft: Draft) -> None:
    rename(_limited(draft) or {}, _OLD, _NEW)


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    rename(_limited(draft) or {}, _NEW, _OLD)


def _from_v1beta3(draft: Draft) -> None:
    take_annotation(draft, KEEP_ZERO)


def _to_v1beta3(behaviour: ServedBehaviour, draft: Draft) -> None:
    if (_limited(draft) or {}).get(_NEW) == 0:
        annotate(draft, KEEP_ZERO, "")


_BEFORE: Final = Spoke(_to_hub, _from_hub, _default_old)
FAMILIES: Final = {
    "PriorityLevelConfiguration": Family(
        "PriorityLevelConfiguration",
        f"{_GROUP}/v1",
        {
            f"{_GROUP}/v1alpha1": _BEFORE,
            f"{_GROUP}/v1beta1": _BEFORE,
            f"{_GROUP}/v1beta2": _BEFORE,
            f"{_GROUP}/v1beta3": Spoke(_from_v1beta3, _to_v1beta3, _default_v1beta3),
        },
        SAME_FIELDS,
    )
}
