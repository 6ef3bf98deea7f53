"""The disk space and the processes of pods, as the statistics of a kubelet tell them.

A container uses what a test says of it, and the files that it has written. Files take whole blocks.

Upstream: k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go and pkg/kubelet/stats, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.engine.controllers.lister import uid_of
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.meta.quantity import parse
from simkit.simulation.connections.container_log import log_file
from simkit.simulation.kubelet.processes import Processes
from simkit.simulation.pressure.consumption import PodConsumption
from simkit.simulation.pressure.thresholds import FILES, PIDS
from simkit.simulation.scheduler.resource_amounts import MEMORY, STORAGE, ResourceAmounts

_FIELDS: Final = ("initContainerStatuses", "containerStatuses")
_MEASURED: Final = ("emptyDir", "configMap", "secret", "downwardAPI", "projected", "persistentVolumeClaim", "ephemeral")
"""The kinds of volumes whose size a kubelet measures. It does not look into those of the host."""

_IN_MEMORY: Final = ("secret", "downwardAPI", "projected")
"""Those of them that kubelets keep in memory."""


class Extent(NamedTuple):
    """Bytes that are used, and the number of files."""

    held: int = 0
    files: int = 0

    def plus(self, other: Extent) -> Extent:
        """Both together."""
        return Extent(self.held + other.held, self.files + other.files)


class FileSystem(NamedTuple):
    """A file system at one moment: the amounts that it has, and those that are taken, where they are known."""

    time: str
    capacity: ResourceAmounts
    taken: ResourceAmounts

    def shown(self, extent: Extent) -> dict[str, Any]:
        """The statistics of a part of it.

        Examples
        --------
        >>> FileSystem("now", {"ephemeral-storage": 100}, {"ephemeral-storage": 30}).shown(Extent(20, 1))
        {'time': 'now', 'availableBytes': 70, 'capacityBytes': 100, 'usedBytes': 20, 'inodesUsed': 1}
        """
        found: dict[str, Any] = {"time": self.time}
        if STORAGE in self.capacity:
            found |= {"availableBytes": self._left(STORAGE), "capacityBytes": self.capacity[STORAGE]}
        found["usedBytes"] = extent.held
        if FILES in self.capacity:
            found |= {"inodesFree": self._left(FILES), "inodes": self.capacity[FILES]}
        return {**found, "inodesUsed": extent.files}

    @property
    def whole(self) -> dict[str, Any]:
        """The statistics of all that is taken of it."""
        return self.shown(Extent(self.taken.get(STORAGE, 0), self.taken.get(FILES, 0)))

    def _left(self, resource: str) -> int:
        return max(0, self.capacity[resource] - self.taken.get(resource, 0))


class VolumeUse(NamedTuple):
    """One volume: what names it, its extent, and its own size where it has one."""

    named: Mapping[str, Any]
    extent: Extent
    capacity: int | None = None
    on_disk: bool = True
    """False for one in memory, and for one of a claim, which are not on the disk of the node."""

    def shown(self, disk: FileSystem) -> dict[str, Any]:
        """Its statistics. One in memory may take all memory, unless it has a limit."""
        size = disk.capacity.get(MEMORY) if self.capacity is None else self.capacity
        own = {} if size is None else {STORAGE: size}
        found = disk if self.on_disk else FileSystem(disk.time, own, {STORAGE: self.extent.held})
        return {**found.shown(self.extent), **self.named}


class PodUse(NamedTuple):
    """The containers of a pod by name, with their written files and their logs; its volumes; and its processes."""

    containers: Mapping[str, tuple[Extent, Extent]]
    volumes: Sequence[VolumeUse]
    processes: int

    @property
    def ephemeral(self) -> Extent:
        """All that it has on the disk of its node."""
        found = Extent()
        for parts in (*self.containers.values(), [each.extent for each in self.volumes if each.on_disk]):
            for each in parts:
                found = found.plus(each)
        return found


def pod_use(used: PodConsumption, processes: Processes) -> PodUse:
    """The usage of a pod now."""
    restarts = {
        each["name"]: int(each.get("restartCount") or 0)
        for field in _FIELDS
        for each in at(used.pod, "status", field) or ()
    }
    uid = uid_of(used.pod)
    containers = {
        name: (
            Extent(amounts.get(STORAGE, 0), amounts.get(FILES, 0)).plus(Extent(*processes.occupied(uid, name))),
            _log(processes, uid, name, restarts[name]),
        )
        for name, amounts in used.containers.items()
    }
    return PodUse(containers, _volumes(used.pod, processes), used.used(PIDS))


def _log(processes: Processes, uid: str, name: str, restarts: int) -> Extent:
    process = processes.known(uid, name, restarts)
    return Extent(0 if process is None else len(log_file(process)), 1)


def _volumes(pod: Object, processes: Processes) -> list[VolumeUse]:
    found = []
    for volume in at(pod, "spec", "volumes") or ():
        if any(kind in volume for kind in _MEASURED):
            extent = Extent(*processes.volumes.occupied(pod, volume))
            claim = _claim(pod, volume)
            named = {"name": volume["name"]}
            if claim:
                named |= {"pvcRef": {"name": claim, "namespace": namespace_of(pod)}}
            size = processes.volumes.claimed(pod, claim) if claim else _limit(volume)
            in_memory = at(volume, "emptyDir", "medium") == "Memory" or any(kind in volume for kind in _IN_MEMORY)
            found.append(VolumeUse(named, extent, size, on_disk=not claim and not in_memory))
    return found


def _claim(pod: Object, volume: Mapping[str, Any]) -> str:
    if volume.get("ephemeral"):
        return f"{name_of(pod)}-{volume['name']}"
    return str(at(volume, "persistentVolumeClaim", "claimName") or "")


def _limit(volume: Mapping[str, Any]) -> int | None:
    """The size of a volume in memory; one on the disk may fill the disk, until its pod is evicted."""
    given = at(volume, "emptyDir") or {}
    return parse(str(given["sizeLimit"])).whole if given.get("medium") == "Memory" and "sizeLimit" in given else None
