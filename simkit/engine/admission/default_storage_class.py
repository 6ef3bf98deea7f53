"""DefaultStorageClass sets the default class on claims that name none.

Upstream: plugin/pkg/admission/storage/storageclass/setdefault, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.default_class import marked_classes, newest_class
from simkit.engine.admission.plugin_attributes import (
    CLAIMS,
    STORAGE_CLASSES,
    admission_forbidden,
    with_spec,
    written,
)
from simkit.engine.seams import Operation, Reader, Review
from simkit.meta.behaviour import applies
from simkit.meta.domain import label
from simkit.meta.objects import Object, annotations_of, at

_OLD_CLASS: Final = label("storage-class", "volume.beta")
_DEFAULT: Final = (label("is-default-class", "storageclass"), label("is-default-class", "storageclass.beta"))


class DefaultStorageClass:
    """Mutates new claims. An empty class name is a choice too, and stays."""

    name = "DefaultStorageClass"
    leaves_process: Final = False
    resources = frozenset({CLAIMS})

    def __init__(self, store: Reader) -> None:
        self._store = store

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

    def mutate(self, review: Review) -> Object:
        """The claim with its class. Raises 403 where a release refuses to choose among several."""
        claim = written(review)
        chosen = at(claim, "spec", "storageClassName")
        if review.subresource or chosen is not None or _OLD_CLASS in annotations_of(claim):
            return claim
        marked = marked_classes(self._store.scan(STORAGE_CLASSES), _DEFAULT)
        if len(marked) > 1 and not applies("newest-default-class-chosen"):
            raise admission_forbidden(
                review, f"Internal error occurred: {len(marked)} default StorageClasses were found"
            )
        name = newest_class(marked)
        return with_spec(claim, storageClassName=name) if name else claim
