"""StorageObjectInUseProtection: volumes and claims are kept by a finalizer until nothing uses them."""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import CLAIMS, VOLUMES, written
from simkit.engine.seams import Operation, Review
from simkit.meta.domain import label
from simkit.meta.objects import Object, metadata, with_metadata

_FINALIZERS: Final = {VOLUMES: label("pv-protection"), CLAIMS: label("pvc-protection")}


class StorageObjectInUseProtection:
    """Gives new volumes and claims their finalizer."""

    name = "StorageObjectInUseProtection"
    leaves_process: Final = False
    resources = frozenset(_FINALIZERS)

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

    def mutate(self, review: Review) -> Object:
        """The object with its finalizer."""
        obj = written(review)
        finalizer, present = _FINALIZERS[review.resource], metadata(obj).get("finalizers") or ()
        if review.subresource or finalizer in present:
            return obj
        return with_metadata(obj, finalizers=[*present, finalizer])
