"""Admission plugins of each release, their order, and those that are on by default.

Upstream: pkg/kubeapiserver/options/plugins.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from simkit.meta import datasets
from simkit.schema.feature_gates import is_enabled
from simkit.schema.releases import minor_of

_table: Final[Callable[[], Mapping[str, Mapping[str, Any]]]] = datasets.lazy("api/releases/admission.json")


@cache
def plugins_of(release: str) -> Sequence[str]:
    """The names of all plugins of a release, in their order of execution.

    Examples
    --------
    >>> "PodSecurity" in plugins_of("1.21"), "PodSecurityPolicy" in plugins_of("1.21")
    (False, True)
    """
    at = minor_of(release)
    return tuple(name for name, row in _table().items() if _has(row, at))


def _has(row: Mapping[str, Any], at: int) -> bool:
    first, last = row.get("since"), row.get("last")
    return (first is None or minor_of(first) <= at) and (last is None or at <= minor_of(last))


def on_by_default(release: str, gates: Mapping[str, bool]) -> Sequence[str]:
    """The plugins that are on by default, without those whose feature gate is off."""
    table = _table()
    ready = [name for name in plugins_of(release) if table[name]["on"]]
    return [name for name in ready if "gate" not in table[name] or is_enabled(table[name]["gate"], release, gates)]


def span(name: str) -> tuple[str, str]:
    """The first and the last release with a plugin; empty if there is none before or after."""
    row = _table().get(name, {})
    return row.get("since", ""), row.get("last", "")
