"""Health checks of each release and endpoint, in the order in which a verbose answer tells them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from simkit.meta import datasets
from simkit.schema.feature_gates import is_enabled
from simkit.schema.releases import FIRST, LAST, minor_of

ENDPOINTS: Final = ("healthz", "livez", "readyz")


_table: Final[Callable[[], Sequence[Mapping[str, Any]]]] = datasets.lazy("api/releases/health-checks.json")


def health_checks(release: str, gates: Mapping[str, bool], endpoint: str) -> Sequence[str]:
    """The checks of an endpoint by name, under the values of the feature gates.

    Examples
    --------
    >>> health_checks("1.36", {}, "livez")[:4]
    ('ping', 'log', 'loopback-serving-certificate', 'etcd')
    """
    return _checks(release, frozenset(gates.items()), endpoint)


@lru_cache(maxsize=256)
def _checks(release: str, gates: frozenset[tuple[str, bool]], endpoint: str) -> Sequence[str]:
    at, values = minor_of(release), dict(gates)
    return tuple(
        row["name"]
        for row in _table()
        if minor_of(row.get("since", f"1.{FIRST}")) <= at <= minor_of(row.get("last", f"1.{LAST}"))
        and endpoint in row.get("only", ENDPOINTS)
        and all(is_enabled(gate, release, values) for gate in row.get("gate", "").split())
    )


def health_paths(release: str, gates: Mapping[str, bool]) -> Iterator[str]:
    """The paths of all checks."""
    for endpoint in ENDPOINTS:
        yield from (f"/{endpoint}/{name}" for name in health_checks(release, gates, endpoint))
