"""The resource claims that a pod names, as the scheduler and the controller of claims see them.

Upstream: k8s.io/dynamic-resource-allocation/resourceclaim (``Name``), release 1.34.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.meta.domain import label
from simkit.meta.objects import Object, at

CLAIM_FINALIZER: Final = label("delete-protection", "resource")
"""The finalizer of claims that have devices."""


def claim_name(pod: Object, reference: Mapping[str, Any]) -> str | None:
    """The name of the claim that an entry of ``spec.resourceClaims`` means.

    None: it is still to be made of a template. Empty: none is needed.

    Examples
    --------
    >>> claim_name({}, {"name": "gpu", "resourceClaimName": "shared"})
    'shared'
    """
    named = reference.get("resourceClaimName")
    if named:
        return str(named)
    for status in at(pod, "status", "resourceClaimStatuses") or ():
        if status.get("name") == reference.get("name"):
            return str(status.get("resourceClaimName") or "")
    return None
