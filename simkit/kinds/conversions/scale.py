"""Conversions of Scale: the selector was a map with a text beside it, later only a text.

Follows ``pkg/apis/apps/v1beta1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import Family, Spoke, peek, rename
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Draft


def _to_hub(draft: Draft) -> None:
    status = peek(draft, "status")
    labels = status.pop("selector", None) or {}
    text = status.pop("targetSelector", "") or ",".join(f"{key}={labels[key]}" for key in sorted(labels))
    if text:
        status["selector"] = text


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    status = peek(draft, "status")
    rename(status, "selector", "targetSelector")
    labels = _as_map(status.get("targetSelector") or "")
    if labels:
        status["selector"] = labels


def _as_map(text: str) -> dict[str, str]:
    """The labels of a selector that only requires single values."""
    pairs = [part.strip().replace("==", "=").split("=") for part in text.split(",") if part.strip()]
    if any(len(pair) != 2 or "!" in pair[0] or " " in pair[0].strip() for pair in pairs):
        return {}
    return {key.strip(): value.strip() for key, value in pairs}


_OLD: Final = Spoke(_to_hub, _from_hub)
FAMILIES: Final = {
    "Scale": Family(
        "Scale", "autoscaling/v1", dict.fromkeys(("extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"), _OLD)
    )
}
