"""Which volume fits a claim."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simkit.meta.domain import label
from simkit.meta.labels import of_object
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata, name_of, namespace_of
from simkit.meta.quantity import parse

_OLD_CLASS: Final = label("storage-class", "volume.beta")


def class_of(obj: Object) -> str:
    """The storage class of a claim or a volume; empty for none."""
    found: str = annotations_of(obj).get(_OLD_CLASS) or at(obj, "spec", "storageClassName") or ""
    return found


def is_for(volume: Object, claim: Object) -> bool:
    """Whether a volume says that it is kept for this claim, or bound to it."""
    reference = at(volume, "spec", "claimRef") or {}
    if (reference.get("namespace"), reference.get("name")) != (namespace_of(claim), name_of(claim)):
        return False
    return reference.get("uid") in (None, "", metadata(claim).get("uid"))


def best(claim: Object, volumes: Iterable[Object]) -> Object | None:
    """The volume that a claim gets: one that is kept for it, else the smallest that has what it asks for."""
    fitting = [each for each in volumes if _fits(claim, each)]
    kept = [each for each in fitting if is_for(each, claim)]
    free = [each for each in fitting if not at(each, "spec", "claimRef")]
    selector = at(claim, "spec", "selector")
    if selector is not None:
        free = [each for each in free if of_object(selector).matches(labels_of(each))]
    found = kept or [each for each in free if class_of(each) == class_of(claim)]
    return min(found, key=lambda each: (_size(each), name_of(each)), default=None)


def _fits(claim: Object, volume: Object) -> bool:
    if metadata(volume).get("deletionTimestamp"):
        return False
    if (at(volume, "spec", "volumeMode") or "Filesystem") != (at(claim, "spec", "volumeMode") or "Filesystem"):
        return False
    wanted = at(claim, "spec", "resources", "requests", "storage") or "0"
    modes = set(at(claim, "spec", "accessModes") or ())
    return _size(volume) >= parse(wanted).nano and modes <= set(at(volume, "spec", "accessModes") or ())


def _size(volume: Object) -> int:
    return parse(at(volume, "spec", "capacity", "storage") or "0").nano
