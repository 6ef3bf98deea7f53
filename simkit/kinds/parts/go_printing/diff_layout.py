"""Layout of go-cmp's reports: on one line if it fits, otherwise on several.

Follows ``github.com/google/go-cmp/cmp, report_text.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

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
