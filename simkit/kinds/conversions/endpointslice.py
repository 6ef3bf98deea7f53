"""Conversions of EndpointSlice: zone and node became fields of an endpoint; the rest of the topology map is read-only.

Follows ``pkg/apis/discovery/v1beta1/conversion.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import SAME_FIELDS, Family, Spoke, entries, rename
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group, label
from simkit.meta.objects import Draft

HOSTNAME: Final = label("hostname")
ZONE: Final = label("zone", "topology")
_GROUP: Final = api_group("discovery")


def _to_hub(draft: Draft) -> None:
    for endpoint in entries(draft, "endpoints"):
        topology = endpoint.pop("topology", None) or {}
        zone = topology.pop(ZONE, None)
        if zone is not None:
            endpoint["zone"] = zone
        if topology.get(HOSTNAME, "") == endpoint.get("nodeName"):
            del topology[HOSTNAME]
        if topology:
            endpoint["deprecatedTopology"] = topology


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    for endpoint in entries(draft, "endpoints"):
        rename(endpoint, "deprecatedTopology", "topology")
        topology = endpoint.get("topology") or {}
        if endpoint.get("nodeName") is not None:
            topology.setdefault(HOSTNAME, endpoint["nodeName"])
        zone = endpoint.pop("zone", None)
        if zone is not None:
            topology[ZONE] = zone
        if topology:
            endpoint["topology"] = topology


FAMILIES: Final = {
    "EndpointSlice": Family(
        "EndpointSlice",
        f"{_GROUP}/v1",
        {f"{_GROUP}/v1beta1": Spoke(_to_hub, _from_hub), f"{_GROUP}/v1alpha1": SAME_FIELDS},
    )
}
