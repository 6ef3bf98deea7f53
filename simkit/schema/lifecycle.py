"""Lifecycle of API versions: introduced, deprecated, removed and replaced, release by release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from simkit.meta import datasets
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.schema.releases import RELEASES, minor_of, release_name
from simkit.schema.resources import Resource, from_row
from simkit.schema.versions import version_rank

Default = Literal["on", "alpha", "newBeta", "since1.16"]
"""The default state of a resource: ``since1.16`` could be switched on until it was deleted."""
_WARNED_SINCE: Final = 19


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The lifecycle of one kind in one version. Empty texts mean not happened or not known."""

    api_version: str
    kind: str
    introduced: str = ""
    deprecated: str = ""
    removed: str = ""
    """The first release that does not serve it by default."""
    deleted: str = ""
    """The first release in which it cannot be switched on either, if that is another one."""
    replacement: str = ""
    """Version and kind of the recommended replacement, such as ``apps/v1 Deployment``."""
    formerly: Sequence[tuple[str, str]] = ()
    """The earlier recommendation: its last release, and version and kind."""
    announced: str = ""
    """The announced release of removal, if it was removed in another one."""
    planned: str = ""
    """The release that will remove it, for kinds that the newest release serves."""

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(*GroupVersion.parse(self.api_version), self.kind)

    @property
    def end(self) -> str:
        """The release that removed it or will; empty if none is known."""
        return self.removed or self.planned

    @property
    def instead(self) -> str:
        """The replacement: the recommended one, else the kind in the most stable version that outlives it.

        A version that is less stable replaces none.
        """
        if self.replacement or not self.end:
            return self.replacement
        group, rank = self.gvk.group, version_rank(self.gvk.version)
        others = [
            each
            for each in all_lifecycles().values()
            if (each.kind, each.gvk.group) == (self.kind, group)
            and version_rank(each.gvk.version) < rank
            and (not each.end or minor_of(each.end) > minor_of(self.end))
        ]
        best = min(others, key=lambda each: version_rank(each.gvk.version), default=None)
        return f"{best.api_version} {best.kind}" if best is not None else ""

    def told(self, release: str) -> str:
        """The replacement that a server of the release recommends in its warning.

        Examples
        --------
        >>> beta = lifecycle_of("autoscaling/v2beta1", "HorizontalPodAutoscaler")
        >>> beta.told("1.22"), beta.told("1.23")
        ('autoscaling/v2beta2 HorizontalPodAutoscaler', 'autoscaling/v2 HorizontalPodAutoscaler')
        """
        at = minor_of(release)
        return next((name for until, name in self.formerly if at <= minor_of(until)), self.replacement)

    def served(self, release: str) -> bool:
        """True if the release has it, on or off by default."""
        at, last = minor_of(release), self.deleted or self.removed
        return (not self.introduced or minor_of(self.introduced) <= at) and (not last or at < minor_of(last))

    def warning(self, release: str) -> str:
        """The warning of a server of the release for its users; empty if it is not deprecated.

        Examples
        --------
        >>> lifecycle_of("networking.k8s.io/v1beta1", "Ingress").warning("1.21")  # doctest: +ELLIPSIS
        'networking.k8s.io/v1beta1 Ingress is deprecated in v1.19+, unavailable in v1.22+; use ...'
        """
        at = minor_of(release)
        if not self.deprecated or at < max(minor_of(self.deprecated), _WARNED_SINCE):
            return ""
        said = self.announced or self.end
        text = f"{self.api_version} {self.kind} is deprecated in v{self.deprecated}+"
        text += f", unavailable in v{said}+" if said else ""
        instead = self.told(release)
        return text + (f"; use {instead}" if instead else "")


@cache
def all_lifecycles() -> Mapping[str, Lifecycle]:
    """The lifecycles of all kinds since 1.16 by version and kind, such as ``apps/v1beta2 Deployment``."""
    return {
        name: Lifecycle(*name.split(" "), **row) for name, row in datasets.load("api/releases/lifecycle.json").items()
    }


def lifecycle_of(api_version: str, kind: str) -> Lifecycle | None:
    """The lifecycle of a kind in a version; None if no release had it."""
    return all_lifecycles().get(f"{api_version} {kind}")


def is_served(api_version: str, kind: str, release: str) -> bool:
    """True if a release has a built-in kind in a version, and not switched off because it is removed."""
    life = lifecycle_of(api_version, kind)
    return life is not None and life.served(release) and not (life.removed and _reached(life.removed, release))


def successor(api_version: str, kind: str, release: str) -> str:
    """Version and kind that a release serves instead of an older one; empty where nothing takes its place.

    What was told to be used instead may be gone itself by then; then it is what was told instead of that.

    Examples
    --------
    >>> successor("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema", "1.33")
    'flowcontrol.apiserver.k8s.io/v1 FlowSchema'
    >>> successor("extensions/v1beta1", "PodSecurityPolicy", "1.25")
    ''
    """
    told = f"{api_version} {kind}"
    for _ in range(len(RELEASES)):
        known = all_lifecycles().get(told)
        told = known.instead if known is not None else ""
        version, _, name = told.partition(" ")
        if not told or is_served(version, name, release):
            break
    return told or _most_stable(GroupVersion.parse(api_version).group, kind, release)


def _most_stable(group: str, kind: str, release: str) -> str:
    served = [
        each
        for each in all_lifecycles().values()
        if (each.kind, each.gvk.group) == (kind, group) and is_served(each.api_version, kind, release)
    ]
    best = min(served, key=lambda each: version_rank(each.gvk.version), default=None)
    return f"{best.api_version} {kind}" if best is not None else ""


def _reached(removed: str, release: str) -> bool:
    return minor_of(removed) <= minor_of(release)


# What is served


_served: Final[Callable[[], Mapping[str, Any]]] = datasets.lazy("api/releases/served.json")


def rows(release: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The table rows of a release's resources, as ``schema.resources.from_row`` reads them."""
    at = minor_of(release_name(release))
    for key, row in _served()["resources"].items():
        first, last = row["releases"]
        if first <= at <= last:
            yield key, {**row, **_state(row, at)}


def _state(row: Mapping[str, Any], at: int) -> Mapping[str, Any]:
    """The differences in an older release: verbs and subresources."""
    for until, state in row.get("earlier", ()):
        if at <= until:
            return {"subresources": {}, **state}
    return {}


@cache
def resources(release: str) -> Sequence[Resource]:
    """All resources of a release, including those that are off by default."""
    return tuple(from_row(key, row) for key, row in rows(release))


def default(api_version: str, plural: str) -> Default | None:
    """The default state of a resource in the release, with the reason if it is off; None if no release had it."""
    row = _served()["resources"].get(f"{api_version} {plural}")
    if row is None:
        return None
    why: Default = row.get("off", "on")
    return why


def order(release: str) -> list[tuple[str, list[str]]]:
    """Groups in server order with their versions, the preferred one first."""
    versions: dict[str, set[str]] = {}
    for key, _ in rows(release):
        group, version = GroupVersion.parse(key.partition(" ")[0])
        versions.setdefault(group, set()).add(version)
    exceptions = _version_order(minor_of(release))
    names: Sequence[str] = _served()["order"]["groups"]
    return [
        (
            group,
            sorted(versions[group], key=lambda version: (exceptions.get((group, version), 0), version_rank(version))),
        )
        for group in names
        if group in versions
    ]


def _version_order(at: int) -> Mapping[tuple[str, str], int]:
    entries = (entry for entry in _served()["order"]["versionOrder"] if at <= minor_of(entry["until"]))
    return {(entry["group"], version): place for entry in entries for place, version in enumerate(entry["order"])}


@dataclass(frozen=True, slots=True)
class ReleaseSpan:
    """The releases that have a resource, from 1.16 on."""

    api_version: str
    plural: str
    kind: str
    first: str
    last: str
    default: Default

    @property
    def releases(self) -> tuple[str, ...]:
        return RELEASES[RELEASES.index(self.first) : RELEASES.index(self.last) + 1]


def spans() -> Iterator[ReleaseSpan]:
    """Every resource of every version with the releases that have it."""
    for key, row in _served()["resources"].items():
        api_version, _, plural = key.partition(" ")
        first, last = row["releases"]
        yield ReleaseSpan(api_version, plural, row["kind"], f"1.{first}", f"1.{last}", row.get("off", "on"))


def every_resource() -> Iterator[tuple[str, Resource]]:
    """Every resource of any release in its newest form, with its version."""
    for key, row in _served()["resources"].items():
        yield key.partition(" ")[0], from_row(key, row)


@cache
def newest_release(gvk: GroupVersionKind) -> str | None:
    """The newest release that has a kind in a version; None if none has."""
    found = lifecycle_of(gvk.api_version, gvk.kind)
    if found is None:
        return None
    last = found.deleted or found.removed
    return f"1.{minor_of(last) - 1}" if last else RELEASES[-1]
