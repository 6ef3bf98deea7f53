"""Admission plugins of default classes, of claims and of volumes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from simkit.client.resources import CLAIMS, STORAGE_CLASSES, VOLUMES
from simkit.engine.admission.plugin_attributes import (
    CREATION,
    INGRESS_CLASSES,
    INGRESSES,
    UPDATES,
    Handler,
    StoreHandler,
    admission_forbidden,
    with_spec,
    written,
)
from simkit.meta.domain import api_group, label
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata, name_of, with_metadata
from simkit.meta.quantity import Quantity
from simkit.meta.resource_list import resource_list_of
from simkit.seams import Entry, Review

# The default class of a kind: the newest that is annotated as default, the first by name among equals.
# Upstream: plugin/pkg/admission/network/defaultingressclass/admission.go, release 1.30.


def marked_classes(classes: Iterable[Entry], annotations: Sequence[str]) -> list[Object]:
    """The classes that are annotated as default."""
    return [
        entry.object
        for entry in classes
        if any(annotations_of(entry.object).get(annotation) == "true" for annotation in annotations)
    ]


def default_class(classes: Iterable[Entry], annotations: Sequence[str]) -> str:
    """The name of the default class, empty where none is marked."""
    return newest_class(marked_classes(classes, annotations))


def newest_class(marked: Sequence[Object]) -> str:
    """The name of the newest of some classes, the first by name among equals; empty if there are none."""
    newest = max((metadata(obj).get("creationTimestamp") or "" for obj in marked), default="")
    names = [name_of(obj) for obj in marked if (metadata(obj).get("creationTimestamp") or "") == newest]
    return min(names, default="")


# DefaultIngressClass sets the default class on Ingresses that name none.
# Upstream: plugin/pkg/admission/network/defaultingressclass, release 1.30.

_OLD_INGRESS_CLASS: Final = label("ingress.class")
_DEFAULT_INGRESS_CLASS: Final = (label("is-default-class", "ingressclass"),)


class DefaultIngressClass(StoreHandler, operations=CREATION, resources={INGRESSES}):
    """Mutates new Ingresses."""

    def mutate(self, review: Review) -> Object:
        """The ingress with its class."""
        ingress = written(review)
        chosen = at(ingress, "spec", "ingressClassName")
        if review.subresource or chosen is not None or _OLD_INGRESS_CLASS in annotations_of(ingress):
            return ingress
        name = default_class(self._store.scan(INGRESS_CLASSES), _DEFAULT_INGRESS_CLASS)
        return with_spec(ingress, ingressClassName=name) if name else ingress


# DefaultStorageClass sets the default class on claims that name none.
# Upstream: plugin/pkg/admission/storage/storageclass/setdefault, release 1.30.

_OLD_STORAGE_CLASS: Final = label("storage-class", "volume.beta")
_DEFAULT_STORAGE_CLASS: Final = (
    label("is-default-class", "storageclass"),
    label("is-default-class", "storageclass.beta"),
)


class DefaultStorageClass(StoreHandler, operations=CREATION, resources={CLAIMS}):
    """Mutates new claims. An empty class name is a choice too, and stays."""

    def mutate(self, review: Review) -> Object:
        """The claim with its class. Raises 403 where a release refuses to choose among several."""
        claim = written(review)
        chosen = at(claim, "spec", "storageClassName")
        if review.subresource or chosen is not None or _OLD_STORAGE_CLASS in annotations_of(claim):
            return claim
        marked = marked_classes(self._store.scan(STORAGE_CLASSES), _DEFAULT_STORAGE_CLASS)
        if len(marked) > 1 and not review.behaviour.applies("newest-default-class-chosen"):
            raise admission_forbidden(
                review, f"Internal error occurred: {len(marked)} default StorageClasses were found"
            )
        name = newest_class(marked)
        return with_spec(claim, storageClassName=name) if name else claim


# PersistentVolumeClaimResize lets claims grow only where their StorageClass allows expansion.
# Upstream: plugin/pkg/admission/storage/persistentvolume/resize, release 1.30.

_OLD_CLASS: Final = label("storage-class", "volume.beta")


class PersistentVolumeClaimResize(StoreHandler, operations=UPDATES, resources={CLAIMS}):
    """Checks claims that ask for more storage."""

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


# PersistentVolumeLabel labels cloud volumes with their zone and region.
# Upstream: plugin/pkg/admission/storage/persistentvolume/label, release 1.30.

_PROVISIONED: Final = label("provisioned-by", "pv")
_PLACES: Final = (label("zone", "topology"), label("region", "topology"))
_CLOUDS: Final = (
    ("gcePersistentDisk", "pdName", "GCE PD volume", "GCE cloud provider for PD"),
    ("azureDisk", "diskName", "AzureDisk volume", "Azure cloud provider for AzureDisk"),
    ("vsphereVolume", "volumePath", "vSphere Volume", "vSphere cloud provider"),
)


class PersistentVolumeLabel(Handler, operations=CREATION, resources={VOLUMES}):
    """Refuses cloud volumes, since no cloud provider can be called; admits all others."""

    def mutate(self, review: Review) -> Object:
        """The volume itself. Raises 403 for one whose zone a cloud provider would have to give."""
        volume = written(review)
        if _PROVISIONED in annotations_of(volume) and all(name in labels_of(volume) for name in _PLACES):
            return volume
        for source, field, what, provider in _CLOUDS:
            found = at(volume, "spec", source)
            if found is not None:
                raise admission_forbidden(
                    review, f"error querying {what} {found.get(field, '')}: unable to build {provider}"
                )
        return volume


# StorageObjectInUseProtection adds the protection finalizers to volumes, claims and volume attributes classes.
# Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection, release 1.30.

_CLASSES: Final = GroupResource(api_group("storage"), "volumeattributesclasses")
_FINALIZERS: Final = {
    VOLUMES: label("pv-protection"),
    CLAIMS: label("pvc-protection"),
    _CLASSES: label("vac-protection"),
}


class StorageObjectInUseProtection(Handler, operations=CREATION, resources=_FINALIZERS):
    """Adds the finalizer to new volumes and claims."""

    def mutate(self, review: Review) -> Object:
        """The object with its finalizer."""
        obj = written(review)
        finalizer, present = _FINALIZERS[review.resource], metadata(obj).get("finalizers") or ()
        if review.subresource or finalizer in present:
            return obj
        if review.resource == _CLASSES and not review.behaviour.applies("volume-attributes-classes-protected"):
            return obj
        return with_metadata(obj, finalizers=[*present, finalizer])
