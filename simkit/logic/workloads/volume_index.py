"""Volumes and claims, looked up by what each asks of the other, for claims and volumes by the hundred.

Upstream: pkg/controller/volume/persistentvolume/index.go, release 1.30, which looks at all volumes with the access
modes of a claim.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from simkit.logic.workloads.volumes import best, class_of, fits, is_for, size_of, wanted_size
from simkit.meta.labels import of_object
from simkit.meta.objects import Object, at, labels_of, name_of, namespace_of

_ANY: Final = ("", "")
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
        self._free: dict[_Group, dict[frozenset[str], _BySize]] = {}
        for each in volumes:
            reference = at(each, "spec", "claimRef")
            if reference:
                self._kept.setdefault((reference.get("namespace"), reference.get("name")), []).append(each)
            else:
                modes = frozenset(at(each, "spec", "accessModes") or ())
                self._free.setdefault(_group(each), {}).setdefault(modes, _BySize()).add(each)

    def kept_for(self, claim: Object) -> Sequence[Object]:
        """The volumes that are reserved for a claim, or bound to it."""
        kept = self._kept.get((namespace_of(claim), name_of(claim)), ())
        return [each for each in kept if is_for(each, claim)]

    def best(self, claim: Object) -> Object | None:
        """The best volume for a claim, as ``volumes.best`` chooses among all.

        The cost is that of the volumes which are reserved for it, of the combinations of access modes, and of the
        volumes with the first label of its selector.
        """
        kept = best(claim, self.kept_for(claim))
        if kept is not None:
            return kept
        wanted = frozenset(at(claim, "spec", "accessModes") or ())
        by_modes = self._free.get(_group(claim), {})
        found = [by_size.first(claim) for modes, by_size in by_modes.items() if wanted <= modes]
        return min((each for each in found if each is not None), key=_order, default=None)

    def take(self, volume: Object) -> None:
        """Offer a volume to nobody else."""
        by_size = self._free.get(_group(volume), {}).get(frozenset(at(volume, "spec", "accessModes") or ()))
        if by_size is not None:
            by_size.discard(volume)


class _BySize:
    """Free volumes of one group with the same access modes, the smallest first; those with one label too."""

    def __init__(self) -> None:
        self._added: list[Object] = []
        self._sorted: dict[tuple[str, str], list[tuple[int, str, Object]]] | None = None

    def add(self, volume: Object) -> None:
        self._added.append(volume)

    @property
    def _rows(self) -> dict[tuple[str, str], list[tuple[int, str, Object]]]:
        if self._sorted is None:
            self._sorted = {}
            for each in sorted(self._added, key=_order):
                for label in (_ANY, *labels_of(each).items()):
                    self._sorted.setdefault(label, []).append((*_order(each), each))
        return self._sorted

    def first(self, claim: Object) -> Object | None:
        """The first volume that meets a claim."""
        selector = at(claim, "spec", "selector")
        chosen = None if selector is None else of_object(selector)
        rows = self._rows.get(_first_label(claim), [])
        for row in range(bisect_left(rows, (wanted_size(claim), "")), len(rows)):
            volume = rows[row][2]
            if (chosen is None or chosen.matches(labels_of(volume))) and fits(claim, volume):
                return volume
        return None

    def discard(self, volume: Object) -> None:
        for label in (_ANY, *labels_of(volume).items()):
            rows = self._rows.get(label, [])
            place = bisect_left(rows, _order(volume))
            if place < len(rows) and rows[place][1] == name_of(volume):
                del rows[place]


class ClaimIndex:
    """The claims of one moment, for volumes that say which of them may want to hear of a change."""

    def __init__(self, claims: Sequence[Object]) -> None:
        self._named: dict[str, list[Object]] = {}
        self._called: dict[tuple[str, str], Object] = {}
        self._waiting: dict[_Group, dict[tuple[str, str], dict[frozenset[str], list[Object]]]] = {}
        """By the first label of the selector and by access modes, what asks for least first."""
        for each in sorted(claims, key=wanted_size):
            self._called[namespace_of(each), name_of(each)] = each
            if volume := at(each, "spec", "volumeName"):
                self._named.setdefault(volume, []).append(each)
            if at(each, "status", "phase") != "Bound":
                modes = frozenset(at(each, "spec", "accessModes") or ())
                by_label = self._waiting.setdefault(_group(each), {})
                by_label.setdefault(_first_label(each), {}).setdefault(modes, []).append(each)

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
        by_label = self._waiting.get(_group(volume), {})
        offered = set(at(volume, "spec", "accessModes") or ())
        for label in (_ANY, *labels_of(volume).items()):
            for modes, claims in by_label.get(label, {}).items():
                if modes <= offered:
                    yield from _fitting(claims, volume)


def _fitting(claims: list[Object], volume: Object) -> list[Object]:
    """Take the claims that a volume fits out of those that wait."""
    end = bisect_right(claims, size_of(volume), key=wanted_size)
    found: list[Object] = []
    left: list[Object] = []
    for claim in claims[:end]:
        (left if best(claim, (volume,)) is None else found).append(claim)
    claims[:end] = left
    return [claim for claim in found if at(claim, "spec", "volumeName") != name_of(volume)]


def _first_label(claim: Object) -> tuple[str, str]:
    """A label that a volume needs for a claim, where the claim's selector names one."""
    return next(iter((at(claim, "spec", "selector", "matchLabels") or {}).items()), _ANY)


def _group(obj: Object) -> _Group:
    return class_of(obj), at(obj, "spec", "volumeMode") or "Filesystem"


def _order(volume: Object) -> tuple[int, str]:
    return size_of(volume), name_of(volume)
