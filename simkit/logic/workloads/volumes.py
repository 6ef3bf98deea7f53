"""The volume for a claim, and volumes and claims looked up by what each asks of the other.

pkg/controller/volume/persistentvolume, index.go and pv_controller.go, and pkg/volume/plugins.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.domain import LABEL_DOMAIN, label
from simkit.meta.labels import of_object
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata, name_of, namespace_of
from simkit.meta.quantity import parse

CSI_DRIVERS: Final[Mapping[str, str]] = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}
"""The driver that serves a volume of an older kind (k8s.io/csi-translation-lib/plugins)."""
_TEMPORARY: Final = re.compile("/(tmp)/.+")
_MAKER: Final = label("provisioned-by", "pv")
_OLD_CLASS: Final = label("storage-class", "volume.beta")
_OTHER_CLASS: Final = "storageClassName does not match"


def class_of(obj: Object) -> str:
    """The storage class of a claim or a volume; empty if it has none."""
    found: str = annotations_of(obj).get(_OLD_CLASS) or at(obj, "spec", "storageClassName") or ""
    return found


def is_for(volume: Object, claim: Object) -> bool:
    """True if a volume is reserved for this claim, or bound to it."""
    reference = at(volume, "spec", "claimRef") or {}
    if (reference.get("namespace"), reference.get("name")) != (namespace_of(claim), name_of(claim)):
        return False
    return reference.get("uid") in (None, "", metadata(claim).get("uid"))


def best(claim: Object, volumes: Iterable[Object]) -> Object | None:
    """The best volume for a claim: one that is reserved for it, else the smallest that meets its requests."""
    kept: list[Object] = []
    free: list[Object] = []
    wanted, modes, selector = (
        class_of(claim),
        set(at(claim, "spec", "accessModes") or ()),
        at(claim, "spec", "selector"),
    )
    chosen = None if selector is None else of_object(selector)
    for each in volumes:  # what is read fast first: hundreds of claims may each look at hundreds of volumes in vain
        if not at(each, "spec", "claimRef"):
            near = class_of(each) == wanted and modes.issubset(at(each, "spec", "accessModes") or ())
            if near and (chosen is None or chosen.matches(labels_of(each))) and fits(claim, each):
                free.append(each)
        elif is_for(each, claim) and fits(claim, each):
            kept.append(each)
    return min(kept or free, key=lambda each: (size_of(each), name_of(each)), default=None)


def fits(claim: Object, volume: Object) -> bool:
    """True if a volume meets a claim's requests, apart from its class."""
    return all(error == _OTHER_CLASS for error in _errors(claim, volume))


def mismatch(claim: Object, volume: Object) -> str:
    """The reason why a claim cannot have the volume that it names; empty if it can."""
    return next(_errors(claim, volume), "")


def _errors(claim: Object, volume: Object) -> Iterator[str]:
    """The differences of a volume from a claim's requests."""
    if metadata(volume).get("deletionTimestamp"):
        yield f'the volume is marked for deletion "{name_of(volume)}"'
    if size_of(volume) < wanted_size(claim):
        yield "requested PV is too small"
    if class_of(volume) != class_of(claim):
        yield _OTHER_CLASS
    if (at(volume, "spec", "volumeMode") or "Filesystem") != (at(claim, "spec", "volumeMode") or "Filesystem"):
        yield "incompatible volumeMode"
    if not set(at(claim, "spec", "accessModes") or ()) <= set(at(volume, "spec", "accessModes") or ()):
        yield "incompatible accessMode"


def undeletable(volume: Object) -> str:
    """The reason why the volume controller cannot delete a volume; empty if it can.

    It knows how to delete directories for temporary files alone, and nothing but to release the volumes of others.
    """
    path, spec = at(volume, "spec", "hostPath", "path"), volume.get("spec") or {}
    if path is not None:
        fits = _TEMPORARY.search(path)
        return "" if fits else f"host_path deleter only supports /tmp/.+ but received provided {path}"
    why = "no deletable volume plugin matched" if spec.get("nfs") is not None else "no volume plugin matched"
    return f'error getting deleter volume plugin for volume "{name_of(volume)}": {why}'


def is_of_others(volume: Object) -> bool:
    """True if an external provisioner made a volume and deletes it."""
    maker = annotations_of(volume).get(_MAKER, "")
    return bool(maker) and not maker.startswith(f"{LABEL_DOMAIN}/")


def wanted_size(claim: Object) -> int:
    """The storage that a claim asks for, in billionths of a byte."""
    return parse(at(claim, "spec", "resources", "requests", "storage") or "0").nano


def size_of(volume: Object) -> int:
    """The capacity of a volume, in billionths of a byte."""
    return parse(at(volume, "spec", "capacity", "storage") or "0").nano


_Group = tuple[str, str]
"""The storage class and the mode of a volume: a claim gets one of its own group."""


class VolumeIndex:
    """The volumes of one moment, for claims that look for one after the other.

    Examples
    --------
    >>> def volume(name, size):
    ...     spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]}
    ...     return {"metadata": {"name": name}, "spec": spec}
    >>> claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}}
    >>> index = VolumeIndex([volume("a", "9Gi"), volume("b", "2Gi"), volume("c", "1Gi")])
    >>> index.best(claim)["metadata"]["name"]
    'b'
    >>> index.take(index.best(claim))
    >>> index.best(claim)["metadata"]["name"]
    'a'
    """

    def __init__(self, volumes: Iterable[Object]) -> None:
        self._kept: dict[tuple[Any, Any], list[Object]] = {}
        self._free: dict[_Group, list[Object]] = {}
        for each in volumes:
            reference = at(each, "spec", "claimRef")
            if reference:
                self._kept.setdefault((reference.get("namespace"), reference.get("name")), []).append(each)
            else:
                self._free.setdefault(_group(each), []).append(each)

    def kept_for(self, claim: Object) -> Sequence[Object]:
        """The volumes that are reserved for a claim, or bound to it."""
        kept = self._kept.get((namespace_of(claim), name_of(claim)), ())
        return [each for each in kept if is_for(each, claim)]

    def best(self, claim: Object) -> Object | None:
        """The best volume for a claim, as ``volumes.best`` chooses among all. O(free volumes of its class)."""
        kept = best(claim, self.kept_for(claim))
        return kept if kept is not None else best(claim, self._free.get(_group(claim), ()))

    def take(self, volume: Object) -> None:
        """Offer a volume to nobody else."""
        free = self._free.get(_group(volume), [])
        free[:] = [each for each in free if each is not volume]


class ClaimIndex:
    """The claims of one moment, for volumes that say which of them may want to hear of a change."""

    def __init__(self, claims: Iterable[Object]) -> None:
        self._named: dict[str, list[Object]] = {}
        self._called: dict[tuple[str, str], Object] = {}
        self._waiting: dict[_Group, list[Object]] = {}
        for each in claims:
            self._called[namespace_of(each), name_of(each)] = each
            if volume := at(each, "spec", "volumeName"):
                self._named.setdefault(volume, []).append(each)
            if at(each, "status", "phase") != "Bound":
                self._waiting.setdefault(_group(each), []).append(each)

    def concerned(self, volume: Object) -> Iterator[Object]:
        """The claims that have a volume or could have it, each of the latter for the first such volume alone.

        A claim hears of a free volume once: it looks at all of them then.
        """
        yield from self._named.get(name_of(volume), ())
        reference = at(volume, "spec", "claimRef")
        if reference:
            claim = self._called.get((reference.get("namespace"), reference.get("name")))
            if claim is not None and is_for(volume, claim) and at(claim, "spec", "volumeName") != name_of(volume):
                yield claim
            return
        waiting = self._waiting.get(_group(volume), [])
        found = [each for each in waiting if best(each, (volume,)) is not None]
        taken = {id(each) for each in found}
        waiting[:] = [each for each in waiting if id(each) not in taken]
        yield from (each for each in found if at(each, "spec", "volumeName") != name_of(volume))


def _group(obj: Object) -> _Group:
    return class_of(obj), at(obj, "spec", "volumeMode") or "Filesystem"
