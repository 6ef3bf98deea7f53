"""The pod security plugin of older releases."""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import PODS, WRITES, Handler
from simkit.meta.names import GroupResource
from simkit.seams import Reader, Review
from simkit.seams.caveats import NOT_HELD

_POLICIES: Final = GroupResource("policy", "podsecuritypolicies")


class PodSecurityPolicy(Handler, operations=WRITES, resources={PODS}):
    """Warns where pod security policies are stored, since pods are not held to them. Releases up to 1.24 have it."""

    def __init__(self, store: Reader) -> None:
        self._store = store

    def validate(self, review: Review) -> None:
        """Add the warning that the policies were not evaluated."""
        if not review.subresource and any(True for _ in self._store.scan(_POLICIES, limit=1)):
            review.warnings.append(NOT_HELD)
