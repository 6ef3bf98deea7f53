"""Conversions of ResourceClaim: v1beta1 has the device request itself, v1beta2 and v1 have it under ``exactly``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simkit.kinds.conversions.family import SAME_FIELDS, Family, Spoke, Step, entries, peek
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.objects import Draft

GROUP: Final = api_group("resource")
EXACT: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)
"""The fields of a v1beta1 request that later versions have under ``exactly``."""

Spec = Callable[[Draft], Draft]


def _to_hub(spec_of: Spec) -> Step:
    def change(draft: Draft) -> None:
        for request in entries(peek(spec_of(draft), "devices"), "requests"):
            exactly = {name: request.pop(name) for name in EXACT if name in request}
            if exactly:
                request["exactly"] = exactly

    return change


def _from_hub(spec_of: Spec) -> Callable[[ServedBehaviour, Draft], None]:
    def change(behaviour: ServedBehaviour, draft: Draft) -> None:
        for request in entries(peek(spec_of(draft), "devices"), "requests"):
            request.update(request.pop("exactly", None) or {})

    return change


def _of_claim(draft: Draft) -> Draft:
    return peek(draft, "spec")


def _of_template(draft: Draft) -> Draft:
    return peek(draft, "spec", "spec")


def _family(kind: str, spec_of: Spec) -> Family:
    old = Spoke(_to_hub(spec_of), _from_hub(spec_of))
    spokes = {f"{GROUP}/v1alpha3": old, f"{GROUP}/v1beta1": old, f"{GROUP}/v1beta2": SAME_FIELDS}
    return Family(kind, f"{GROUP}/v1", spokes)


FAMILIES: Final = {
    "DeviceClass": Family(
        "DeviceClass", f"{GROUP}/v1", {f"{GROUP}/{v}": SAME_FIELDS for v in ("v1alpha3", "v1beta1", "v1beta2")}
    ),
    "ResourceClaim": _family("ResourceClaim", _of_claim),
    "ResourceClaimTemplate": _family("ResourceClaimTemplate", _of_template),
}
