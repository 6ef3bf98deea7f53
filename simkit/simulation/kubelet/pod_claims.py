"""Resource claims that a kubelet cannot prepare, since their devices are not for the pod.

Upstream: pkg/kubelet/cm/dra/manager.go (``PrepareResources``), release 1.34.
"""

from __future__ import annotations

from collections.abc import Collection

from simkit.engine.controllers.lister import Lister, uid_of
from simkit.engine.controllers.resources import RESOURCE_CLAIMS
from simkit.logic.workloads.resource_claims import claim_name
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, name_of, namespace_of


def unprepared(pod: Object, lister: Lister, unknown: Collection[GroupResource] = ()) -> str:
    """The reason why a claim of a pod cannot be prepared; empty if all can. Nothing of ``unknown`` resources counts.

    Claims that name a class instead of devices, as up to release 1.30, do not count: nobody allocates them.
    """
    if RESOURCE_CLAIMS in unknown:
        return ""
    extended = at(pod, "status", "extendedResourceClaimStatus")
    for reference in [*(at(pod, "spec", "resourceClaims") or ()), *([extended] if extended else ())]:
        name = claim_name(pod, reference)
        if name == "":
            continue
        claim = None if name is None else lister.get(Key(RESOURCE_CLAIMS, namespace_of(pod), name))
        told = ""
        if name is None:
            told = f'pod "{namespace_of(pod)}/{name_of(pod)}": ResourceClaim not created yet'
        elif claim is None:
            told = f'fetch ResourceClaim {name}: {RESOURCE_CLAIMS.resource}.{RESOURCE_CLAIMS.group} "{name}" not found'
        elif at(claim, "spec", "devices") is None:
            continue
        elif not any(each.get("uid") == uid_of(pod) for each in at(claim, "status", "reservedFor") or ()):
            told = f"pod {name_of(pod)} ({uid_of(pod)}) is not allowed to use ResourceClaim {name} ({uid_of(claim)})"
        elif at(claim, "status", "allocation") is None:
            told = f"ResourceClaim {name}: not allocated"
        if told:
            return f"Failed to prepare dynamic resources: prepare dynamic resources: {told}"
    return ""
