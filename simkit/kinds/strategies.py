"""Lookup of the strategy of a kind, by the names of its group and of the kind itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from simkit.kinds.strategy import DEFAULT_STRATEGY, Strategy
from simkit.meta.names import GroupKind

_HERE = Path(__file__).parent


@cache
def strategy_of(kind: GroupKind) -> Strategy:
    """The strategy of a built-in kind; ``DEFAULT_STRATEGY`` if it has no behaviour of its own.

    It is the constant ``STRATEGY`` of ``kinds/<first part of the group>/<kind in lower case>.py``, or stands in the
    table ``STRATEGIES`` of ``<group>/simple_kinds.py`` or, where a group has no folder, of ``<group>.py``.
    """
    group = kind.group.split(".")[0] if kind.group else "core"
    name = kind.kind.lower()
    if (_HERE / group / f"{name}.py").is_file():
        own: Strategy = import_module(f"simkit.kinds.{group}.{name}").STRATEGY
        return own
    for shared in (f"{group}/simple_kinds", group):
        if (_HERE / f"{shared}.py").is_file():
            table: Mapping[str, Strategy] = import_module(f"simkit.kinds.{shared.replace('/', '.')}").STRATEGIES
            return table.get(kind.kind, DEFAULT_STRATEGY)
    return DEFAULT_STRATEGY
