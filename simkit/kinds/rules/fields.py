"""Conditions of rows: predicates over the mapping that holds the field."""

from __future__ import annotations

from typing import Any

from simkit.kinds.rules.row import Condition
from simkit.meta.objects import at


def given(*fields: str) -> Condition:
    """The condition that fields, also below others, all have a value that is not empty."""
    paths = [field.split(".") for field in fields]
    return lambda holder: all(at(holder, *steps) for steps in paths)


def either(*fields: str) -> Condition:
    """The condition that one of some fields has a value that is not empty."""
    return lambda holder: any(holder.get(field) for field in fields)


def present(*fields: str) -> Condition:
    """The condition that fields all are there, even if empty."""
    return lambda holder: all(holder.get(field) is not None for field in fields)


def absent(*names: str) -> Condition:
    """The condition that fields all are not there, not even empty."""
    return lambda holder: all(holder.get(name) is None for name in names)


def equal(field: str, *values: Any) -> Condition:
    """The condition that a field has one of some values."""
    steps = field.split(".")
    return lambda holder: at(holder, *steps) in values
