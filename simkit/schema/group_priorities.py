"""Priorities of groups and versions, which order discovery.

Upstream: cmd/kube-apiserver/app/aggregator.go (``apiVersionPriorities``), release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.meta import datasets
from simkit.meta.names import GroupVersion
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


@cache
def priority(group_version: GroupVersion) -> Priority:
    """The priorities of a group version that the server itself serves.

    Examples
    --------
    >>> priority(GroupVersion("apps", "v1"))
    Priority(group=17800, version=15)
    """
    table = _table()
    group = table["groups"].get(group_version.group)
    if group is None:
        return Priority(*CUSTOM)
    stable = version_rank(group_version.version)[0] == 0
    return Priority(group, table["versions"].get(str(group_version), 15 if stable else 9))
