"""Priorities of groups and versions, which order discovery.

Upstream: cmd/kube-apiserver/app/aggregator.go (``apiVersionPriorities``), release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.meta import datasets
from simkit.meta.names import GroupVersion
from simkit.schema.releases import BASE
from simkit.schema.versions import version_rank

CUSTOM: Final = (1000, 100)
"""The priority of custom resources' groups."""


class Priority(NamedTuple):
    """``groupPriorityMinimum`` and ``versionPriority``: the highest comes first."""

    group: int
    version: int


@cache
def _table() -> Mapping[str, Any]:
    found: Mapping[str, Any] = datasets.load("api/priorities.json")
    return found


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
