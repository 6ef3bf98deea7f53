"""Types of persistent volumes, most of which pods may also use directly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from simkit.kinds.parts.pod.paths import backstep_faults
from simkit.kinds.parts.pod.volume_sources import SOURCES as OF_PODS
from simkit.kinds.parts.pod.volume_sources import driver_faults
from simkit.meta.fielderror import FieldError, required
from simkit.meta.objects import Object

_SECRETS: Final = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def _local(path: str, source: Object) -> Iterator[FieldError]:
    if not source.get("path"):
        yield required(f"{path}.path")
    else:
        yield from backstep_faults(f"{path}.path", source["path"])


def _csi(path: str, source: Object) -> Iterator[FieldError]:
    yield from driver_faults(f"{path}.driver", source.get("driver") or "")
    if not source.get("volumeHandle"):
        yield required(f"{path}.volumeHandle")
    for name in _SECRETS:
        reference = source.get(name)
        if reference is not None:
            yield from (required(f"{path}.{name}.{part}") for part in ("name", "namespace") if not reference.get(part))


_ORDER: Final = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)
_OWN: Final = {"local": _local, "csi": _csi}

SOURCES: Final[Mapping[str, Callable[[str, Object], Iterator[FieldError]]]] = {
    name: _OWN.get(name) or OF_PODS[name] for name in _ORDER
}
"""Every type with its check, in the order in which they are looked for."""
