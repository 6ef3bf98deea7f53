"""DenyServiceExternalIPs refuses new externalIPs of Services.

Upstream: plugin/pkg/admission/network/denyserviceexternalips, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import SERVICES, WRITES, admission_forbidden, written
from simkit.engine.seams import Operation, Review
from simkit.meta.objects import at


class DenyServiceExternalIPs:
    """Admits Services that add no external address."""

    name = "DenyServiceExternalIPs"
    leaves_process: Final = False
    resources = frozenset({SERVICES})

    def handles(self, operation: Operation) -> bool:
        return operation in WRITES

    def validate(self, review: Review) -> None:
        """Raises 403 for an added address."""
        wanted = set(at(written(review), "spec", "externalIPs") or ())
        if not review.subresource and not wanted <= set(at(review.old, "spec", "externalIPs") or ()):
            raise admission_forbidden(review, "Use of external IPs is denied by admission control")
