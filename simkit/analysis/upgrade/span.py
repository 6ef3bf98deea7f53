"""The releases that an upgrade goes over, and the release of a cluster as far as objects and requests show it.

Components may lag behind the API server by the version skew policy of Kubernetes: kubelets and kube-proxies by two
releases, from API server 1.28 on those of 1.25 and later by three; kubectl may be one release older or newer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.audit_log.requests import recorded_requests
from simkit.analysis.upgrade.items import Item
from simkit.meta.domain import API_SERVER
from simkit.meta.errors import SimkitError
from simkit.meta.integers import saturating_int
from simkit.meta.objects import at
from simkit.schema.lifecycle import Lifecycle, spans
from simkit.schema.releases import RELEASES, is_release, minor_of, release_name

_PATCH: Final = re.compile(r"v?1\.\d+\.(\d+)(?:[+-].*)?")


@dataclass(frozen=True, slots=True)
class ReleaseSpan:
    """The way from one release (not included) to another (included); ``start`` is empty where it is not known."""

    start: str
    end: str
    disabled: tuple[str, ...] = ()
    """API groups, versions or resources that are disabled at one release, instead of an upgrade."""
    patch: int | None = None
    """The patch of the end, if it is said: 4 of ``1.35.4``."""
    coming: str = ""
    """The release after the newest known one, if the way leads there: then what is planned for it counts, too."""

    def __str__(self) -> str:
        if self.disabled:
            return f"{self.end} without {', '.join(self.disabled)}"
        return f"{self.start or 'any release'} -> {self.coming or self.end}"

    @classmethod
    def of(cls, start: str, end: str) -> ReleaseSpan:
        """The way between two releases as people write them.

        Raises
        ------
        SimkitError
            For an unknown release but the one after the newest, and for a way that goes back.

        Examples
        --------
        >>> ReleaseSpan.of("v1.23.4", "1.24").hops
        ('1.24',)
        """
        coming = f"1.{minor_of(RELEASES[-1]) + 1}"
        coming = coming if is_release(end) and minor_of(end) == minor_of(coming) else ""
        try:
            first, last = release_name(start) if start else "", RELEASES[-1] if coming else release_name(end)
        except SimkitError as wrong:
            told = "simkit releases --calendar has what is planned for later ones"
            raise SimkitError(f"{wrong}; {told}") from None
        if first and minor_of(first) > minor_of(last):
            raise SimkitError(f"an upgrade goes to a later release; {last} comes before {first}")
        patch = _PATCH.fullmatch(end.strip())
        return cls(first, last, patch=saturating_int(patch[1]) if patch is not None else None, coming=coming)

    def has_fix(self, fixed: str) -> bool | None:
        """True if the end has the fix of a patch release, False if it has not; None if its patch is not said.

        Examples
        --------
        >>> [ReleaseSpan.of("1.34", to).has_fix("1.35.4") for to in ("1.35.4", "1.35.3", "1.35", "1.36")]
        [True, False, None, None]
        """
        if self.patch is None or minor_of(fixed) != minor_of(self.end):
            return None
        return self.patch >= int(fixed.rpartition(".")[2])

    @property
    def hops(self) -> tuple[str, ...]:
        """The releases on the way, the last included. From an unknown start: all known ones."""
        first = minor_of(self.start) + 1 if self.start else minor_of(RELEASES[0])
        return tuple(each for each in RELEASES if first <= minor_of(each) <= minor_of(self.end))

    @property
    def steps(self) -> Iterator[tuple[str, str]]:
        """The hops, each with the release before it; the first one only if that is known."""
        return pairwise(filter(None, (self.start, *self.hops)))

    def meets(self, release: str) -> bool:
        """True if a change of some release lies on the way. Without a start, all that led to the end does.

        What is disabled has no release, and always does.
        """
        if not release:
            return True
        at = minor_of(release)
        return at <= minor_of(self.coming or self.end) and (not self.start or at > minor_of(self.start))

    def ends(self, life: Lifecycle) -> bool:
        """True if a version is not served at the end of the way, or is planned not to be in the coming release.

        Examples
        --------
        >>> from simkit.schema.lifecycle import lifecycle_of
        >>> claim = lifecycle_of("resource.k8s.io/v1beta1", "ResourceClaim")
        >>> [ReleaseSpan.of("1.36", to).ends(claim) for to in ("1.37", "1.38")]
        [False, True]
        """
        release = life.end if self.coming else life.removed
        return bool(release) and minor_of(release) <= minor_of(self.coming or self.end)


_IMAGE: Final = re.compile(rf"(?:^|/){API_SERVER}[^:/]*:v?(1\.\d+)")


def release_of(items: Iterable[Item], audit_log: AuditLog | None = None) -> str:
    """The release that the image of the API server names, else that of the newest kubelet, else the newest one that has
    all that requests were answered for; empty where none of them tells a release.

    Examples
    --------
    >>> node = {"kind": "Node", "status": {"nodeInfo": {"kubeletVersion": "v1.23.17-eks"}}}
    >>> release_of([Item(node)])
    '1.23'
    """
    kubelets: set[int] = set()
    servers: set[int] = set()
    for item in items:
        if item.kind == "Node":
            kubelets.add(minor_in(str(at(item.obj, "status", "nodeInfo", "kubeletVersion"))) or 0)
        elif item.kind == "Pod":
            containers = at(item.obj, "spec", "containers")
            for container in containers if isinstance(containers, list) else ():
                match = _IMAGE.search(str(at(container, "image") or ""))
                servers.add((minor_in(match.group(1)) or 0) if match else 0)
    newest = min(servers - {0}, default=0) or max(kubelets, default=0)
    if newest == 0 and audit_log is not None:
        return _newest_that_answers(audit_log)
    return f"1.{newest}" if f"1.{newest}" in RELEASES else ""


def _newest_that_answers(audit_log: AuditLog) -> str:
    """The newest release with every version of which a recorded request was answered; empty if any later one has it."""
    asked = {(each.api_version, each.resource) for each in recorded_requests(audit_log) if 0 < each.code < 400}
    last = [span.releases[-1] for span in spans() if (span.api_version, span.plural) in asked]
    oldest = min(map(RELEASES.index, last), default=len(RELEASES) - 1)
    return RELEASES[oldest] if oldest + 1 < len(RELEASES) else ""


_KUBECTL: Final = re.compile(r"^kubectl(?:\.exe)?/v?1\.(\d+)\.")
_WIDER_SINCE: Final = 28
_WIDER_FOR: Final = 25


def too_old(version: str, release: str) -> bool:
    """True if a kubelet or kube-proxy is further behind an API server than is supported.

    Examples
    --------
    >>> too_old("v1.25.3", "1.28"), too_old("v1.24.3", "1.27"), too_old("v1.25.3", "1.27")
    (False, True, False)
    """
    minor = minor_in(version)
    if minor is None:
        return False
    allowed = 3 if minor_of(release) >= _WIDER_SINCE and minor >= _WIDER_FOR else 2
    return minor_of(release) - minor > allowed


def minor_in(version: str) -> int | None:
    """The minor release of a version that a node tells; None for what is none."""
    try:
        return minor_of(version)
    except SimkitError:
        return None


def kubectl_minor(agent: str) -> int | None:
    """The minor release of the kubectl that a user agent names.

    Examples
    --------
    >>> kubectl_minor("kubectl/v1.27.3 (linux/amd64) kubernetes/25b4e43"), kubectl_minor("helm/3.1")
    (27, None)
    """
    match = _KUBECTL.match(agent)
    return saturating_int(match.group(1), bits=32) if match else None
