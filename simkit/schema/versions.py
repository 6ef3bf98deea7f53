"""The order of versions and groups: by stability, and by the priorities of discovery.

Upstream: cmd/kube-apiserver/app/aggregator.go (``apiVersionPriorities``), release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.meta import datasets
from simkit.meta.names import GroupVersion
from simkit.schema.releases import BASE

_VERSION: Final = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")
_STABILITY: Final = {None: 0, "beta": 1, "alpha": 2}

VersionRank = tuple[int, int, int, str]


def is_version(text: str) -> bool:
    """True if a text is the name of a version: ``v1``, ``v2beta1``, ``v1alpha3``."""
    return _VERSION.fullmatch(text) is not None


def version_rank(version: str) -> VersionRank:
    """The sort key of a version: the one that kube-apiserver prefers comes first.

    Examples
    --------
    >>> sorted(["v1beta1", "v1", "v10", "v2alpha1", "foo", "v1beta2"], key=version_rank)
    ['v10', 'v1', 'v1beta2', 'v1beta1', 'v2alpha1', 'foo']
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    major, stability, minor = match.groups()
    return (_STABILITY[stability], -int(major), -int(minor or 0), version)


CUSTOM: Final = (1000, 100)
"""The priority of custom resources' groups."""


class Priority(NamedTuple):
    """``groupPriorityMinimum`` and ``versionPriority``: the highest comes first."""

    group: int
    version: int


_table: Final[Callable[[], Mapping[str, Any]]] = datasets.lazy("api/priorities.json")


def priority(group_version: GroupVersion, release: str = BASE) -> Priority:
    """The priorities of a group version that the server itself serves, at a release.

    Examples
    --------
    >>> priority(GroupVersion("apps", "v1"))
    Priority(group=17800, version=15)
    """
    return _priority(group_version, int(release.partition(".")[2]))


@cache
def _at(minor: int) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """The priorities of groups and versions at a release."""
    table = _table()
    groups, versions = dict(table["groups"]), dict(table["versions"])
    for row in table["later"]:
        if minor >= row["since"]:
            groups |= row["groups"]
            versions |= row["versions"]
    return groups, versions


@cache
def _priority(group_version: GroupVersion, minor: int) -> Priority:
    groups, versions = _at(minor)
    group = groups.get(group_version.group)
    if group is None:
        return Priority(*CUSTOM)
    stable = version_rank(group_version.version)[0] == 0
    return Priority(group, versions.get(str(group_version), 15 if stable else 9))
