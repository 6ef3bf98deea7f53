"""Go types that error messages print: their fields in declaration order, by release.

The table is ``datasets/api/releases/go-types.json``. A type's fields stand there as ``json/Name:type``, without the
name in JSON where it is Go's with a small first letter, without the type for texts. A field without a name in JSON
holds its parts beside the others. ``Name@31`` came with release 1.31, ``Name@-30`` was there up to 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from simkit.meta import datasets
from simkit.meta.behaviour import served_minor

_SAME: Final = {"core.EphemeralContainerCommon": "core.Container"}
"""Fields in declaration order as ``json/Name:type``: strings by default, with the name in JSON if it differs. A"""
_FIELD: Final = re.compile(
    r"(?:(?P<key>\w*)(?P<slash>/))?(?P<name>\w+)(?:@(?P<since>\d+))?(?:@-(?P<last>\d+))?(?::(?P<kind>.+))?"
)


class Field(NamedTuple):
    """One field of a struct."""

    name: str
    key: str
    """Its name in JSON; empty for an embedded one."""
    kind: str
    since: int = 0
    last: int = 99


@cache
def _table() -> Mapping[str, str]:
    found: Mapping[str, str] = datasets.load("api/releases/go-types.json")
    return found


def is_structure(kind: str) -> bool:
    """True if the fields of a type are known."""
    return _SAME.get(kind, kind) in _table()


def fields_of(kind: str) -> Sequence[Field]:
    """The fields of a struct, in declaration order.

    Examples
    --------
    >>> [(each.name, each.key, each.kind) for each in fields_of("core.HostAlias")]
    [('IP', 'ip', ''), ('Hostnames', 'hostnames', 'texts')]
    """
    return _fields_of(kind, served_minor())


@cache
def _fields_of(kind: str, minor: int) -> Sequence[Field]:
    every = map(_field, _table()[_SAME.get(kind, kind)].split())
    return tuple(each for each in every if each.since <= minor <= each.last)


def _field(part: str) -> Field:
    match = _FIELD.fullmatch(part)
    assert match is not None, part
    name = match["name"]
    key = match["key"] if match["slash"] else f"{name[0].lower()}{name[1:]}"
    if not match["slash"]:
        name = f"{name[0].upper()}{name[1:]}"
    return Field(name, key, match["kind"] or "", int(match["since"] or 0), int(match["last"] or 99))
