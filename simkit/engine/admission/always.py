"""AlwaysAdmit and AlwaysDeny, for tests.

Upstream: plugin/pkg/admission/admit and plugin/pkg/admission/deny, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import Resources, admission_forbidden, written
from simkit.engine.seams import Operation, Review
from simkit.meta.objects import Object


class AlwaysAdmit:
    """Admits every request."""

    name = "AlwaysAdmit"
    leaves_process: Final = False
    resources: Resources = None

    def handles(self, operation: Operation) -> bool:
        return True

    def validate(self, review: Review) -> None:
        """Accept it."""


class AlwaysDeny:
    """Denies every request."""

    name = "AlwaysDeny"
    leaves_process: Final = False
    resources: Resources = None

    def handles(self, operation: Operation) -> bool:
        return True

    def mutate(self, review: Review) -> Object:
        """Raises 403."""
        self.validate(review)
        return written(review)

    def validate(self, review: Review) -> None:
        """Raises 403."""
        raise admission_forbidden(review, "admission control is denying all modifications")
