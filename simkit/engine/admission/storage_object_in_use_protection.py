"""StorageObjectInUseProtection adds the protection finalizers to volumes and claims.

Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import CLAIMS, VOLUMES, written
from simkit.engine.seams import Operation, Review
from simkit.meta.domain import label
from simkit.meta.objects import Object, metadata, with_metadata

_FINALIZERS: Final = {VOLUMES: label("pv-protection"), CLAIMS: label("pvc-protection")}


class StorageObjectInUseProtection:
    """Adds the finalizer to new volumes and claims."""

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
