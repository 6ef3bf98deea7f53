"""Differences of two values in the form of go-cmp's ``cmp.Diff``.

kube-apiserver lets a library compare values of its language and report on it; the rules of that report stand here. How
deep and how long unchanged values are shown is bounded, so that a change can be found.

Follows ``github.com/google/go-cmp/cmp, report_compare.go``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import unified_diff
from itertools import groupby
from typing import Any, Final

from simkit.kinds.parts.cells import selector_structure
from simkit.kinds.parts.go_printing.structures import fields_of, internal_json, is_structure
from simkit.kinds.parts.validation.resource_quantities import compare, parts_of
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import quoted

DOTS: Final = "..."
_WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class Wrap:
    """A text between two others."""

    before: str
    inside: Text
    after: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of a listing. ``sign`` is ``-`` or ``+`` for a removed or added one."""

    value: Text
    key: str = ""
    sign: str = ""
    note: str = ""
    """A remark after the entry."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Comma-separated entries."""

    records: Sequence[Record]


Text = str | Wrap | Listing


def laid_out(text: Text) -> str:
    """The lines of a text, with two columns for the sign in front.

    Examples
    --------
    >>> entries = Listing([Record("1", "A", "-"), Record("2", "A", "+")])
    >>> print(laid_out(Wrap("{", entries, "}")).expandtabs(2), end="")
      {
    -   A: 1,
    +   A: 2,
      }
    """
    return f"{_start('', 0)}{_expanded(_compact(text, '')[1], '', 0)}\n"


def _compact(text: Text, sign: str) -> tuple[str, Text]:
    """Everything on one line, and the text with those parts joined that fit on one line."""
    if isinstance(text, str):
        return text, text
    if isinstance(text, Wrap):
        flat, inside = _compact(text.inside, sign)
        flat = f"{text.before}{flat}{text.after}"
        return flat, flat if isinstance(inside, str) else replace(text, inside=inside)
    parts: list[str] = []
    records: list[Record] = []
    for record in text.records:
        flat, value = _compact(record.value, sign or record.sign)
        parts.append(f"{record.key}: {flat}" if record.key else flat)
        records.append(replace(record, value=value))
    line = ", ".join(parts)
    several = any(each.sign or each.note or not isinstance(each.value, str) for each in records)
    return line, Listing(records) if several or (sign and len(line.encode()) > _WIDTH) else line


def _expanded(text: Text, sign: str, depth: int) -> str:
    if isinstance(text, str):
        return text
    if isinstance(text, Wrap):
        return f"{text.before}{_expanded(text.inside, sign, depth)}{text.after}"
    lines = _batches(text.records, sign, depth + 1) if _is_plain(text) else _entries(text.records, sign, depth + 1)
    return f"{''.join(lines)}\n{_start(sign, depth)}"


def _is_plain(listing: Listing) -> bool:
    return all(isinstance(each.value, str) and not (each.key or each.sign or each.note) for each in listing.records)


def _batches(records: Sequence[Record], sign: str, depth: int) -> Iterator[str]:
    """Short values without names, as many per line as fit."""
    batch = ""
    for record in records:
        if batch and len(batch) + len(str(record.value)) + 2 > _WIDTH:
            yield f"\n{_start(sign, depth)}{batch.rstrip(' ')}"
            batch = ""
        batch += f"{record.value}, "
    if batch:
        yield f"\n{_start(sign, depth)}{batch.rstrip(' ')}"


def _entries(records: Sequence[Record], sign: str, depth: int) -> Iterator[str]:
    for aligned, run in groupby(records, lambda each: bool(each.key) and isinstance(each.value, str)):
        group = list(run)
        width = max(len(each.key) for each in group) if aligned else 0
        for each in group:
            mark = sign or each.sign
            key = f"{each.key}:{' ' * (1 + max(0, width - len(each.key)))}" if each.key else ""
            comma = "" if each.value == DOTS else ","
            note = f" // {each.note}" if each.note else ""
            yield f"\n{_start(mark, depth)}{key}{_expanded(each.value, mark, depth)}{comma}{note}"


def _start(sign: str, depth: int) -> str:
    return f"{sign or ' '} {'	' * depth}"


class _Absent:
    """An element that a list or map lacks on one side."""


ABSENT: Final = _Absent()
_NIL: Final = "nil"
_TYPES: Final[Mapping[str, str]] = {
    "texts": "[]string",
    "map": "map[string]string",
    "amounts": "core.ResourceList",
    "quantity": "resource.Quantity",
}
_PORT: Final = "intstr.IntOrString"


def parts_of_number(kind: str, value: Any) -> Any:
    """The value of a number or text; any other value unchanged."""
    if kind != _PORT or isinstance(value, Mapping):
        return value
    return {"type": 1, "strVal": value} if isinstance(value, str) else {"intVal": value or 0}


def is_zero(behaviour: ServedBehaviour, kind: str, value: Any) -> bool:
    """True if a value is the zero value."""
    if value is None or value is ABSENT:
        return True
    if is_structure(kind):
        held = parts_of_number(kind, value)
        return all(
            is_zero(behaviour, each.kind, held.get(each.key) if each.key else held)
            for each in fields_of(behaviour.minor, kind)
        )
    return not value and not isinstance(value, list | tuple | Mapping) and not kind.startswith("*")


def key_text(kind: str, key: str) -> str:
    """The key of an entry; resource names differ from strings."""
    return f"s{quoted(key)}" if kind == "amounts" else quoted(key)


def typed(kind: str, text: Text, mode: str, side: str) -> Text:
    """The text with the name of its type, if that is shown."""
    known = is_structure(kind) or kind in _TYPES or kind.startswith("[]")
    if mode == "elide" or (mode == "auto" and (not known or text == _NIL or side == " ")):
        return text
    return Wrap(_TYPES.get(kind, kind), text)


def printed_value(behaviour: ServedBehaviour, kind: str, value: Any, mode: str, side: str, level: int) -> Text | None:
    """A printed value of a type; None for an absent one. Each level doubles the details."""
    if value is ABSENT:
        return None
    if kind.startswith("*"):
        return _pointed(behaviour, kind[1:], value, mode, side, level)
    if kind.startswith("[]") or kind in ("texts", "map", "amounts"):
        return _NIL if value is None else typed(kind, _held(behaviour, kind, value, side, level), mode, side)
    if kind == "moment":
        return f"s{quoted(_moment(value))}"
    if is_structure(kind):
        return typed(kind, _structure(behaviour, kind, parts_of_number(kind, value) or {}, side, level), mode, side)
    if kind == "quantity":
        return typed(kind, _quantity(value or "0", side, level), mode, side)
    return _scalar(kind, value, level)


def _pointed(behaviour: ServedBehaviour, kind: str, value: Any, mode: str, side: str, level: int) -> Text | None:
    if value is None:
        return _NIL
    if kind == "v1.LabelSelector":
        return f"s{_text(selector_structure(value), level)}"
    inside = printed_value(behaviour, kind, value, mode, side, level)
    return Wrap("&", inside) if inside is not None else None


def _held(behaviour: ServedBehaviour, kind: str, value: Any, side: str, level: int) -> Text:
    """The elements of a list, or the entries of a map."""
    if isinstance(value, Mapping):
        element = "quantity" if kind == "amounts" else ""
        entries = ((key_text(kind, key), element, value[key]) for key in sorted(value))
        return _bounded(behaviour, entries, "elide", side, level)
    element = "" if kind == "texts" else kind.removeprefix("[]")
    return _bounded(behaviour, (("", element, each) for each in value), "elide", side, level)


def _structure(behaviour: ServedBehaviour, kind: str, value: Mapping[str, Any], side: str, level: int) -> Text:
    parts = (
        (each.name, each.kind, value.get(each.key) if each.key else value) for each in fields_of(behaviour.minor, kind)
    )
    return _bounded(
        behaviour, (part for part in parts if not is_zero(behaviour, part[1], part[2])), "auto", side, level
    )


def _bounded(
    behaviour: ServedBehaviour, parts: Iterable[tuple[str, str, Any]], mode: str, side: str, level: int
) -> Text:
    """As many parts as the level allows."""
    most, records = ((1 << level) >> 1) << 2, list[Record]()
    for name, kind, value in parts:
        if len(records) == most:
            records.append(Record(DOTS))
            break
        text = printed_value(behaviour, kind, value, mode, side, max(0, level - 1))
        if text is not None:
            records.append(Record(text, name))
    return Wrap("{", Listing(records), "}")


def _quantity(text: str, side: str, level: int) -> Text:
    """A quantity as number, scale, original text and format."""
    value, scale, kept, family = parts_of(text, stored=side != "+")
    number: Text = Wrap("{", Listing([Record(str(n), k) for k, n in (("value", value), ("scale", scale)) if n]), "}")
    if level < 2:
        number = Wrap("{", DOTS, "}")
    number = number if side == " " else Wrap("resource.int64Amount", number)
    records = [Record(number, "i")] if value else []
    records += [Record(quoted(part), name) for name, part in (("s", kept), ("Format", family)) if part]
    return Wrap("{", Listing(records) if level else DOTS, "}")


def _scalar(kind: str, value: Any, level: int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if value is None and kind in ("bool", "int"):
        return "false" if kind == "bool" else "0"
    return _text(value or "", level) if isinstance(value, str | None) else _unknown(value)


def _moment(value: str) -> str:
    return f"{datetime.fromisoformat(value.replace('Z', '+00:00')).astimezone(UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"


def _text(value: str, level: int) -> str:
    """A text in quotation marks, shortened if it is long."""
    most = (1 << level) << 5
    shown, more = (value, "") if len(value) <= most + len(DOTS) else (value[:most], DOTS)
    marked = quoted(shown)
    plain = "`" not in shown and shown.replace("\t", "").isprintable()
    return f"{f'`{shown}`' if len(marked) > len(shown) + 2 and plain else marked}{more}"


def _unknown(value: Any) -> str:
    """A value of a type with unknown fields, in their own order."""
    if isinstance(value, Mapping):
        listed = ", ".join(f"{key[:1].upper()}{key[1:]}: {_unknown(item)}" for key, item in value.items())
        return f"{{{listed}}}"
    if isinstance(value, list | tuple):
        return f"{{{', '.join(map(_unknown, value))}}}"
    return _scalar("", value, 1)


_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_HEADER: Final = 2
"""Lines of a unified diff that name the files."""


def json_difference(behaviour: ServedBehaviour, kind: str, old: Any, new: Any) -> str:
    """The lines that differ between the JSON texts of two values of a type, with three lines around them.

    Examples
    --------
    >>> print(json_difference(ServedBehaviour(30), "core.HostAlias", {"ip": "1"}, {"ip": "2"}), end="")
    @@ -1,4 +1,4 @@
     {
    - "IP": "1",
    + "IP": "2",
      "Hostnames": null
     }
    """
    found = list(unified_diff(_lines(behaviour, kind, old), _lines(behaviour, kind, new)))
    return "".join(found[_HEADER:])


def _lines(behaviour: ServedBehaviour, kind: str, value: Any) -> list[str]:
    text = json.dumps(internal_json(behaviour.minor, kind, value), indent=1, ensure_ascii=False).translate(_ESCAPED)
    return [f"{line}\n" for line in text.split("\n")]


_AROUND: Final = 2
_DETAIL: Final = 3
"""The number of details of a change; each level doubles it."""
_ELEMENTS: Final[Mapping[str, str]] = {"texts": "", "map": "", "amounts": "quantity"}
"""The element types of lists and maps that are not shown by name."""
_NAMES: Final = {"struct": "field", "list": "element", "map": "entry"}


def change(behaviour: ServedBehaviour, kind: str, old: Any, new: Any) -> str:
    """The difference that the error of a changed specification shows: at some releases from the new to the old one."""
    return (
        difference(behaviour, kind, old, new)
        if behaviour.applies("changes-shown-forward")
        else difference(behaviour, kind, new, old)
    )


def difference(behaviour: ServedBehaviour, kind: str, old: Any, new: Any) -> str:
    """The report on two values of a type; since release 1.34 that on their JSON.

    Examples
    --------
    >>> print(difference(ServedBehaviour(30), "core.HostAlias", {"ip": "1"}, {"ip": "2"}).expandtabs(2), end="")
      core.HostAlias{
    -   IP:        "1",
    +   IP:        "2",
        Hostnames: nil,
      }
    """
    if behaviour.applies("differences-of-json"):
        return json_difference(behaviour, kind, old, new)
    text = _report(behaviour, _compared(behaviour, kind, old, new), "emit", "", _DETAIL)
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


def _compared(behaviour: ServedBehaviour, kind: str, before: Any, after: Any) -> _Node:
    if before is ABSENT or after is ABSENT:
        return _Node(kind, before, after, differs=True)
    if kind.startswith(("*", "[]")) or kind in _ELEMENTS:
        if before is None or after is None:
            return _Node(kind, before, after, differs=before is not after)
        return _inside(behaviour, kind, before, after)
    if is_structure(kind):
        before, after = parts_of_number(kind, before), parts_of_number(kind, after)
        parts = [
            (each.name, _compared(behaviour, each.kind, _part(before, each.key), _part(after, each.key)))
            for each in fields_of(behaviour.minor, kind)
        ]
        return _Node(kind, before, after, "struct", parts)
    if kind == "quantity":
        return _Node(kind, before, after, differs=compare(before or "0", after or "0") != 0)
    return _Node(kind, before, after, differs=(before or None) != (after or None))


def _part(value: Any, key: str) -> Any:
    return (value or {}).get(key) if key else value


def _inside(behaviour: ServedBehaviour, kind: str, before: Any, after: Any) -> _Node:
    if kind.startswith("*"):
        return _Node(kind, before, after, "pointer", [("", _compared(behaviour, kind[1:], before, after))])
    element = _ELEMENTS.get(kind, kind.removeprefix("[]"))
    if isinstance(before, Mapping):
        keys = sorted({*before, *after})
        pairs = ((key, before.get(key, ABSENT), after.get(key, ABSENT)) for key in keys)
        parts = [(key_text(kind, key), _compared(behaviour, element, one, other)) for key, one, other in pairs]
        return _Node(kind, before, after, "map", parts)
    return _Node(kind, before, after, "list", [("", each) for each in _aligned(behaviour, element, before, after)])


def _aligned(behaviour: ServedBehaviour, element: str, before: Sequence[Any], after: Sequence[Any]) -> Iterator[_Node]:
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
        yield _compared(behaviour, element, one, other)
    for one, other in zip(before[len(before) - end :], after[len(after) - end :], strict=True):
        yield _compared(behaviour, element, one, other)


def _report(behaviour: ServedBehaviour, node: _Node, mode: str, side: str, level: int) -> Text | None:
    """The text of a node. ``side`` is a space for unchanged parts, ``-`` or ``+`` for those of one side."""
    level = 1 if side == " " else max(level, _DETAIL)
    if node.depth == 0:
        value = node.after if side == "+" else node.before
        return printed_value(behaviour, node.kind, value, mode, side, level)
    if node.shape == "pointer":
        inside = _report(behaviour, node.parts[0][1], mode, side, level)
        return Wrap("&", inside) if inside is not None else None
    below = "auto" if node.shape == "struct" else "elide"
    records = _side(behaviour, node, below, side, level) if side else _changes(behaviour, node, below, level)
    return typed(node.kind, Wrap("{", Listing(list(records)), "}"), mode, side)


def _side(behaviour: ServedBehaviour, node: _Node, mode: str, side: str, level: int) -> Iterator[Record]:
    """The parts of a node on one side, without empty fields; only a few of them if nothing changed."""
    most = ((1 << level) >> 1) << 2 if side == " " else (1 << level) << 1
    count = 0
    for name, part in node.parts:
        if count == most:
            yield Record(DOTS)
            return
        sides = (part.before, part.after) if side == " " else (part.before if side == "-" else part.after,)
        if node.shape == "struct" and any(is_zero(behaviour, part.kind, value) for value in sides):
            continue
        text = _report(behaviour, part, mode, side, level - 1)
        if text is not None:
            count += 1
            yield Record(text, name)


def _changes(behaviour: ServedBehaviour, node: _Node, mode: str, level: int) -> Iterator[Record]:
    """The changed parts with two unchanged parts on either side; longer gaps are counted."""
    runs = [(differs, list(run)) for differs, run in groupby(node.parts, lambda part: part[1].differs)]
    for index, (differs, run) in enumerate(runs):
        if differs:
            for name, part in run:
                yield from _change(behaviour, name, part, mode, level - 1)
            continue
        low = min(_AROUND, len(run)) if index else 0
        high = min(_AROUND, len(run) - low) if index < len(runs) - 1 else 0
        if len(run) - low - high == 1:
            high += 1  # a single one is not worth counting
        yield from _same(behaviour, run[:low], mode, level)
        left = len(run) - low - high
        if left:
            yield Record(DOTS, note=_counted(left, _NAMES[node.shape]))
        yield from _same(behaviour, run[len(run) - high :], mode, level)


def _same(behaviour: ServedBehaviour, run: Sequence[tuple[str, _Node]], mode: str, level: int) -> Iterator[Record]:
    for name, part in run:
        text = _report(behaviour, part, mode, " ", level - 1)
        if text is not None:
            yield Record(text, name)


def _counted(count: int, name: str) -> str:
    several = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{count} identical {name if count == 1 else several}"


def _change(behaviour: ServedBehaviour, name: str, part: _Node, mode: str, level: int) -> Iterator[Record]:
    """A changed part: as a whole if it has only one part, else the changes inside."""
    if part.below != part.depth:
        text = _report(behaviour, part, mode, "", level)
        if text is not None:
            yield Record(text, name)
        return
    for sign in ("-", "+"):
        text = _report(behaviour, part, mode, sign, level)
        if text is not None:
            yield Record(text, name, sign)
