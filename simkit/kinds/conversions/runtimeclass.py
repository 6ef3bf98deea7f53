"""Conversions of RuntimeClass: v1alpha1 has a spec with the fields that later versions have at the top.

Follows ``pkg/apis/node/v1alpha1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import SAME_FIELDS, Family, Spoke
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.objects import Draft

_GROUP: Final = api_group("node")


def _to_hub(draft: Draft) -> None:
    spec = draft.pop("spec", None) or {}
    draft["handler"] = spec.pop("runtimeHandler", "")
    draft.update(spec)


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = draft["spec"] = {"runtimeHandler": draft.pop("handler", "")}
    for name in ("overhead", "scheduling"):
        if name in draft:
            spec[name] = draft.pop(name)


FAMILIES: Final = {
    "RuntimeClass": Family(
        "RuntimeClass",
        f"{_GROUP}/v1",
        {f"{_GROUP}/v1alpha1": Spoke(_to_hub, _from_hub), f"{_GROUP}/v1beta1": SAME_FIELDS},
    )
}
