"""A quicker constructor for frozen dataclasses of which every request makes several."""

from __future__ import annotations

from dataclasses import field, fields, make_dataclass
from typing import Any, TypeVar

_T = TypeVar("_T")


def quickly_made(cls: type[_T]) -> type[_T]:
    """The frozen dataclass with the constructor of one that is not frozen.

    The constructor of a frozen dataclass calls a function for each field, to get round its own guard, and takes eight
    times as long. So the guard goes: that nobody changes a field is left to the type checker.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @quickly_made
    ... @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0), hash(Point(1)) == hash(Point(1))
    (Point(x=1, y=0), True, True)
    """
    known = fields(cls)  # type: ignore[arg-type]  # which is a dataclass
    given = [
        (each.name, Any, field(default=each.default, default_factory=each.default_factory, init=each.init))
        for each in known
    ]
    after = {name: vars(cls)[name] for name in ("__post_init__",) if name in vars(cls)}
    made = make_dataclass(cls.__name__, given, repr=False, eq=False, match_args=False, namespace=after)
    cls.__init__ = made.__init__  # type: ignore[method-assign, misc]
    del cls.__setattr__, cls.__delattr__
    return cls
