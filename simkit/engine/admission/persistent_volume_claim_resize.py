"""PersistentVolumeClaimResize lets claims grow only where their StorageClass allows expansion.

Upstream: plugin/pkg/admission/storage/persistentvolume/resize, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import CLAIMS, STORAGE_CLASSES, admission_forbidden, written
from simkit.engine.seams import Operation, Reader, Review
from simkit.meta.domain import label
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at
from simkit.meta.quantity import Quantity
from simkit.meta.resource_list import resource_list_of

_OLD_CLASS: Final = label("storage-class", "volume.beta")


class PersistentVolumeClaimResize:
    """Checks claims that ask for more storage."""

    name = "PersistentVolumeClaimResize"
    leaves_process: Final = False
    resources = frozenset({CLAIMS})

    def __init__(self, store: Reader) -> None:
        self._store = store

    def handles(self, operation: Operation) -> bool:
        return operation == "UPDATE"

    def validate(self, review: Review) -> None:
        """Raises 403 for a claim that cannot grow."""
        claim, old = written(review), review.old or {}
        if review.subresource or _size(claim).nano <= _size(old).nano:
            return
        if at(old, "status", "phase") != "Bound":
            raise admission_forbidden(review, "Only bound persistent volume claims can be expanded")
        if not self._grows(_class(claim), _class(old)):
            why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
            raise admission_forbidden(review, why + "support resize")

    def _grows(self, name: str, old: str) -> bool:
        if not name or name != old:
            return False
        found = self._store.get(Key(STORAGE_CLASSES, "", name))
        return found is not None and bool(found.object.get("allowVolumeExpansion"))


def _size(claim: Object) -> Quantity:
    return resource_list_of(at(claim, "spec", "resources", "requests")).get("storage", Quantity(0))


def _class(claim: Object) -> str:
    return annotations_of(claim).get(_OLD_CLASS) or at(claim, "spec", "storageClassName") or ""
