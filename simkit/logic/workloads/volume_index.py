"""Volumes and claims, looked up by what each asks of the other.

Upstream: pkg/controller/volume/persistentvolume/index.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from simkit.logic.workloads.volumes import best, class_of, is_for
from simkit.meta.objects import Object, at, name_of, namespace_of

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
