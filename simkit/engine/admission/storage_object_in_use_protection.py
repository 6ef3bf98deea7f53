"""StorageObjectInUseProtection adds the protection finalizers to volumes, claims and volume attributes classes.

Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import CLAIMS, VOLUMES, written
from simkit.engine.seams import Operation, Review
from simkit.meta.behaviour import applies
from simkit.meta.domain import api_group, label
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, metadata, with_metadata

_CLASSES: Final = GroupResource(api_group("storage"), "volumeattributesclasses")
_FINALIZERS: Final = {
    VOLUMES: label("pv-protection"),
    CLAIMS: label("pvc-protection"),
    _CLASSES: label("vac-protection"),
}


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
        if review.resource == _CLASSES and not applies("volume-attributes-classes-protected"):
            return obj
        return with_metadata(obj, finalizers=[*present, finalizer])
