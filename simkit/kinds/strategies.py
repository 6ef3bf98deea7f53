"""Lookup of the strategy of a kind, loaded from ``kinds/<first part of the group>/<kind in lower case>.py``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from simkit.kinds.strategy import DEFAULT_STRATEGY, Strategy
from simkit.meta.names import GroupKind

_HERE = Path(__file__).parent


@cache
def strategy_of(kind: GroupKind) -> Strategy:
    """The strategy of a built-in kind; ``DEFAULT_STRATEGY`` if it has no behaviour of its own."""
    folder = kind.group.split(".")[0] if kind.group else "core"
    name = kind.kind.lower()
    if not (_HERE / folder / f"{name}.py").is_file():
        return DEFAULT_STRATEGY
    rules: Strategy = import_module(f"simkit.kinds.{folder}.{name}").STRATEGY
    return rules
