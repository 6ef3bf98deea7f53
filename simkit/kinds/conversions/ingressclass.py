"""Conversions of IngressClass: v1 sets a default scope of parameters, v1beta1 does not.

Upstream: pkg/apis/networking/v1/defaults.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import Family, Spoke
from simkit.meta.domain import api_group

_GROUP: Final = api_group("networking")
FAMILIES: Final = {
    "IngressClass": Family("IngressClass", f"{_GROUP}/v1", {f"{_GROUP}/v1beta1": Spoke(hub_defaults=False)})
}
