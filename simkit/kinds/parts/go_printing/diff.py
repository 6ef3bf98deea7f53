"""Differences of two values in the form of go-cmp's ``cmp.Diff``.

kube-apiserver lets a library compare values of its language and report on it; the rules of that report stand here. How
deep and how long unchanged values are shown is bounded, so that a change can be found.

Follows ``github.com/google/go-cmp/cmp, report_compare.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from simkit.kinds.parts.go_printing.diff_layout import DOTS, Listing, Record, Text, Wrap, laid_out
from simkit.kinds.parts.go_printing.diff_values import ABSENT, is_zero, key_text, parts_of_number, printed_value, typed
from simkit.kinds.parts.go_printing.types import fields_of, is_structure
from simkit.kinds.parts.go_printing.unified_diff import json_difference
from simkit.kinds.parts.validation.resource_quantities import compare
from simkit.meta.behaviour import applies

_AROUND: Final = 2
_DETAIL: Final = 3
"""The number of details of a change; each level doubles it."""
_ELEMENTS: Final[Mapping[str, str]] = {"texts": "", "map": "", "amounts": "quantity"}
"""The element types of lists and maps that are not shown by name."""
_NAMES: Final = {"struct": "field", "list": "element", "map": "entry"}


def change(kind: str, old: Any, new: Any) -> str:
    """The difference that the error of a changed specification shows: at some releases from the new to the old one."""
    return difference(kind, old, new) if applies("changes-shown-forward") else difference(kind, new, old)


def difference(kind: str, old: Any, new: Any) -> str:
    """The report on two values of a type; since release 1.34 that on their JSON.

    Examples
    --------
    >>> print(difference("core.HostAlias", {"ip": "1"}, {"ip": "2"}).expandtabs(2), end="")
      core.HostAlias{
    -   IP:        "1",
    +   IP:        "2",
        Hostnames: nil,
      }
    """
    if applies("differences-of-json"):
        return json_difference(kind, old, new)
    text = _report(_compared(kind, old, new), "emit", "", _DETAIL)
    return laid_out(text if text is not None else "")


@dataclass(slots=True)
class _Node:
    """Two compared values, with their parts."""

    kind: str
    before: Any
    after: Any
    shape: str = "leaf"
    parts: Sequence[tuple[str, _Node]] = ()
    differs: bool = False
    below: int = field(init=False, default=0)
    depth: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        for _, part in self.parts:
            self.differs |= part.differs
            self.below += part.below + 1
            self.depth = max(self.depth, part.depth + 1)


def _compared(kind: str, before: Any, after: Any) -> _Node:
    if before is ABSENT or after is ABSENT:
        return _Node(kind, before, after, differs=True)
    if kind.startswith(("*", "[]")) or kind in _ELEMENTS:
        if before is None or after is None:
            return _Node(kind, before, after, differs=before is not after)
        return _inside(kind, before, after)
    if is_structure(kind):
        before, after = parts_of_number(kind, before), parts_of_number(kind, after)
        parts = [
            (each.name, _compared(each.kind, _part(before, each.key), _part(after, each.key)))
            for each in fields_of(kind)
        ]
        return _Node(kind, before, after, "struct", parts)
    if kind == "quantity":
        return _Node(kind, before, after, differs=compare(before or "0", after or "0") != 0)
    return _Node(kind, before, after, differs=(before or None) != (after or None))


def _part(value: Any, key: str) -> Any:
    return (value or {}).get(key) if key else value


def _inside(kind: str, before: Any, after: Any) -> _Node:
    if kind.startswith("*"):
        return _Node(kind, before, after, "pointer", [("", _compared(kind[1:], before, after))])
    element = _ELEMENTS.get(kind, kind.removeprefix("[]"))
    if isinstance(before, Mapping):
        keys = sorted({*before, *after})
        pairs = ((key, before.get(key, ABSENT), after.get(key, ABSENT)) for key in keys)
        parts = [(key_text(kind, key), _compared(element, one, other)) for key, one, other in pairs]
        return _Node(kind, before, after, "map", parts)
    return _Node(kind, before, after, "list", [("", each) for each in _aligned(element, before, after)])


def _aligned(element: str, before: Sequence[Any], after: Sequence[Any]) -> Iterator[_Node]:
    """The elements of two lists aligned: equal ones at both ends, then those between."""
    start, end, least = 0, 0, min(len(before), len(after))
    if len(before) != len(after):
        while start < least and before[start] == after[start]:
            start += 1
        while end < least - start and before[-1 - end] == after[-1 - end]:
            end += 1
    middle = max(len(before), len(after)) - start - end
    ones = [*before[start : len(before) - end], *[ABSENT] * middle][:middle]
    others = [*after[start : len(after) - end], *[ABSENT] * middle][:middle]
    for one, other in zip([*before[:start], *ones], [*after[:start], *others], strict=True):
        yield _compared(element, one, other)
    for one, other in zip(before[len(before) - end :], after[len(after) - end :], strict=True):
        yield _compared(element, one, other)


def _report(node: _Node, mode: str, side: str, level: int) -> Text | None:
    """The text of a node. ``side`` is a space for unchanged parts, ``-`` or ``+`` for those of one side."""
    level = 1 if side == " " else max(level, _DETAIL)
    if node.depth == 0:
        value = node.after if side == "+" else node.before
        return printed_value(node.kind, value, mode, side, level)
    if node.shape == "pointer":
        inside = _report(node.parts[0][1], mode, side, level)
        return Wrap("&", inside) if inside is not None else None
    below = "auto" if node.shape == "struct" else "elide"
    records = _side(node, below, side, level) if side else _changes(node, below, level)
    return typed(node.kind, Wrap("{", Listing(list(records)), "}"), mode, side)


def _side(node: _Node, mode: str, side: str, level: int) -> Iterator[Record]:
    """The parts of a node on one side, without empty fields; only a few of them if nothing changed."""
    most = ((1 << level) >> 1) << 2 if side == " " else (1 << level) << 1
    count = 0
    for name, part in node.parts:
        if count == most:
            yield Record(DOTS)
            return
        sides = (part.before, part.after) if side == " " else (part.before if side == "-" else part.after,)
        if node.shape == "struct" and any(is_zero(part.kind, value) for value in sides):
            continue
        text = _report(part, mode, side, level - 1)
        if text is not None:
            count += 1
            yield Record(text, name)


def _changes(node: _Node, mode: str, level: int) -> Iterator[Record]:
    """The changed parts with two unchanged parts on either side; longer gaps are counted."""
    runs = [(differs, list(run)) for differs, run in groupby(node.parts, lambda part: part[1].differs)]
    for index, (differs, run) in enumerate(runs):
        if differs:
            for name, part in run:
                yield from _change(name, part, mode, level - 1)
            continue
        low = min(_AROUND, len(run)) if index else 0
        high = min(_AROUND, len(run) - low) if index < len(runs) - 1 else 0
        if len(run) - low - high == 1:
            high += 1  # a single one is not worth counting
        yield from _same(run[:low], mode, level)
        left = len(run) - low - high
        if left:
            yield Record(DOTS, note=_counted(left, _NAMES[node.shape]))
        yield from _same(run[len(run) - high :], mode, level)


def _same(run: Sequence[tuple[str, _Node]], mode: str, level: int) -> Iterator[Record]:
    for name, part in run:
        text = _report(part, mode, " ", level - 1)
        if text is not None:
            yield Record(text, name)


def _counted(count: int, name: str) -> str:
    several = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{count} identical {name if count == 1 else several}"


def _change(name: str, part: _Node, mode: str, level: int) -> Iterator[Record]:
    """A changed part: as a whole if it has only one part, else the changes inside."""
    if part.below != part.depth:
        text = _report(part, mode, "", level)
        if text is not None:
            yield Record(text, name)
        return
    for sign in ("-", "+"):
        text = _report(part, mode, sign, level)
        if text is not None:
            yield Record(text, name, sign)
