"""The clusters of a fleet: their names, and where each is read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from simkit.meta.errors import SimkitError
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load
from simkit.snapshot.sources import SUFFIXES

CONTEXT: Final = "context:"
"""The prefix of a running cluster's place, followed by the name of its kubeconfig context."""
_SUFFIXES: Final = sorted((suffix for suffix in (*SUFFIXES, ".db", ".zst") if suffix), key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class Member:
    """One cluster of a fleet: a dump (file, folder, archive, etcd backup), or ``context:NAME``."""

    name: str
    place: str
    cloud: str = field(default="", repr=False)
    """The place of the export of its provider; empty without one."""

    def snapshot(self, release: str | None) -> Snapshot:
        """The current objects. Raises SimkitError if nothing can be read."""
        dump = self._dump(release)
        if self.cloud:
            from simkit.snapshot.cloud.exports import with_cloud  # for managed clusters

            dump = with_cloud(dump, self.cloud)
        return dump.snapshot()

    def _dump(self, release: str | None) -> Dump:
        if self.place.startswith(CONTEXT):
            from simkit.cluster.loading import release_of
            from simkit.snapshot.live import LiveCluster

            live = LiveCluster(self.place.removeprefix(CONTEXT))
            return load(live.pieces(), release=release or release_of(live))
        dump = load(self.place, release=release)
        if not dump.objects:
            raise SimkitError("; ".join(map(str, dump.lost)) or f"{self.place} holds no objects")
        return dump


def members_of(sources: str | Path | Iterable[str | Path] | Mapping[str, str | Path]) -> tuple[Member, ...]:
    """The clusters that are meant.

    Parameters
    ----------
    sources
        Names with places; or places, whose names are those of the files without their endings. A pattern
        (``dumps/*.json.gz``) stands for all that fit it.

    Raises
    ------
    SimkitError
        Where nothing fits, or two clusters would have one name.

    Examples
    --------
    >>> members_of({"eu": "dumps/a.json", "us": "context:prod-us"})
    (Member(name='eu', place='dumps/a.json'), Member(name='us', place='context:prod-us'))
    >>> members_of(["/dev/null", "context:prod"])
    (Member(name='null', place='/dev/null'), Member(name='prod', place='context:prod'))
    """
    if isinstance(sources, Mapping):
        found = [Member(name, str(place)) for name, place in sources.items()]
    else:
        places = [sources] if isinstance(sources, str | Path) else list(sources)
        found = [Member(_name(place), place) for given in places for place in _expanded(str(given))]
    if not found:
        raise SimkitError("a fleet needs at least one cluster; give paths, a pattern, or context:NAME")
    names = [member.name for member in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SimkitError(f"two clusters would be called {twice[0]!r}; name them yourself: {{'NAME': 'PATH', ...}}")
    return tuple(found)


def _expanded(place: str) -> list[str]:
    path = Path(place)
    if place.startswith(CONTEXT) or path.exists() or not any(sign in place for sign in "*?["):
        return [place]
    found = sorted(map(str, Path(path.anchor or ".").glob(str(path.relative_to(path.anchor)))))
    if not found:
        raise SimkitError(f"no file fits {place!r}")
    return found


def _name(place: str) -> str:
    if place.startswith(CONTEXT):
        return place.removeprefix(CONTEXT)
    name = Path(place).name
    while True:
        shorter = next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)
        if shorter in ("", name):
            return name
        name = shorter
