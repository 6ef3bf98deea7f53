"""Gained and lost permissions put together: the verbs that one subject gains on resources, the gravest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_GRAVE: Final = frozenset({"escalate", "bind", "impersonate"})
_TELLING: Final = frozenset({"secrets", "serviceaccounts/token", "pods/exec", "pods/attach", "nodes/proxy", "*", "*/*"})
_GRANTING: Final = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
Row = Mapping[Any, Any]
"""A row of ``compare``."""


class AccessChange(NamedTuple):
    """The permissions that one subject gains or loses in one namespace: verbs on resources."""

    weight: int
    change: str
    subject: str
    scope: str
    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    bindings: tuple[str, ...]


def access_changes(rows: Iterable[Row]) -> list[AccessChange]:
    """The rows of ``compare`` put together: what is gained before what is lost, the gravest first.

    Resources with the same verbs in the same namespace through the same bindings are one change.
    """
    return sorted(_changes(rows), key=lambda one: (one.change != "gained", -one.weight, one.subject, one.scope))


def _changes(rows: Iterable[Row]) -> Iterator[AccessChange]:
    verbs: dict[tuple[Any, ...], dict[str, None]] = {}
    for row in rows:
        place = (row["change"], row["subject"], row["scope"], _resource(row), tuple(row["bindings"]))
        verbs.setdefault(place, {})[row["verb"]] = None
    resources: dict[tuple[Any, ...], list[str]] = {}
    for (change, subject, scope, resource, bindings), found in verbs.items():
        ordered = tuple(sorted(found, key=lambda verb: (VERBS.index(verb) if verb in VERBS else -1, verb)))
        weight = _weight(ordered, resource, scope)
        resources.setdefault((weight, change, subject, scope, ordered, bindings), []).append(resource)
    for (weight, change, subject, scope, ordered, bindings), named in resources.items():
        yield AccessChange(weight, change, subject, scope, ordered, tuple(named), bindings)


def _weight(verbs: Sequence[str], resource: str, scope: str) -> int:
    """The weight of a change for a reviewer: 0 for an ordinary one."""
    plural = resource.split(" ")[0].partition(".")[0]
    writes = set(verbs) - {"get", "list", "watch"}
    grave = bool(_GRAVE & set(verbs)) or "*" in verbs or (plural in _GRANTING and bool(writes))
    weight = (2 if grave else 0) + (1 if plural in _TELLING else 0)
    return weight + (1 if weight and scope == "*" else 0)


def _resource(row: Row) -> str:
    if row["url"]:
        return str(row["url"])
    named = f"{row['resource']}.{row['api_group']}" if row["api_group"] else str(row["resource"])
    return f"{named} {row['name']}" if row["name"] else named
