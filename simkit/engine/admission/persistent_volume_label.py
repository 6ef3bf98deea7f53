"""PersistentVolumeLabel labels cloud volumes with their zone and region.

Upstream: plugin/pkg/admission/storage/persistentvolume/label, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import VOLUMES, admission_forbidden, written
from simkit.engine.seams import Operation, Review
from simkit.meta.domain import label
from simkit.meta.objects import Object, annotations_of, at, labels_of

_PROVISIONED: Final = label("provisioned-by", "pv")
_PLACES: Final = (label("zone", "topology"), label("region", "topology"))
_CLOUDS: Final = (
    ("gcePersistentDisk", "pdName", "GCE PD volume", "GCE cloud provider for PD"),
    ("azureDisk", "diskName", "AzureDisk volume", "Azure cloud provider for AzureDisk"),
    ("vsphereVolume", "volumePath", "vSphere Volume", "vSphere cloud provider"),
)


class PersistentVolumeLabel:
    """Refuses cloud volumes, since no cloud provider can be called; admits all others."""

    name = "PersistentVolumeLabel"
    leaves_process: Final = False
    resources = frozenset({VOLUMES})

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

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
