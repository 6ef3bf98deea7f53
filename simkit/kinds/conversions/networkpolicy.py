"""Conversions of NetworkPolicy: the same fields; only v1 sets a default protocol of ports."""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import Family, Spoke, section
from simkit.meta.domain import api_group
from simkit.meta.objects import Draft


def _default(draft: Draft) -> None:
    spec = section(draft, "spec")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


_OLD: Final = Spoke(default=_default, hub_defaults=False)
FAMILIES: Final = {
    "NetworkPolicy": Family("NetworkPolicy", f"{api_group('networking')}/v1", {"extensions/v1beta1": _OLD})
}
