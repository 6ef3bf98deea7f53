"""Rows of one table laid over a sorted sequence of entries: what two of the views have in common."""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from simkit.engine.seams import Entry
from simkit.engine.storage.state import Span, order
from simkit.engine.storage.table import Table
from simkit.meta.names import Key


class Mark(enum.Enum):
    """What a row says where it holds no entry."""

    GONE = "gone"


GONE: Final = Mark.GONE
Cell = Entry | Mark
"""An entry that stands in place of the one below, or GONE where nothing does."""

Fetch = Callable[[Key | None, int | None], Sequence[Entry]]
"""The entries below, after a key, at most so many."""


def cell_of(entry: Entry | None) -> Cell:
    """What a row holds for an entry, or for none."""
    return GONE if entry is None else entry


def entry_of(cell: Cell) -> Entry | None:
    """The entry that a row holds, None for a mark."""
    return None if cell is GONE or isinstance(cell, Mark) else cell


def covered(
    fetch: Fetch, cells: Callable[[], Table[Cell] | None], namespace: str | None, after: Key | None, limit: int | None
) -> Sequence[Entry]:
    """The entries of a scan with the rows of a table over them.

    The table is asked for after the entries below have been fetched: a row may appear in between, never the reverse.
    """
    found: list[Entry] = []
    while limit != 0:
        page = fetch(after, limit)
        table = cells()
        whole = limit is None or len(page) < limit
        if table is None:
            return page if not found else [*found, *page][:limit]
        start, stop = Span.of(namespace, after)
        if not whole:
            after = page[-1].key
            stop = order(after) + "\0"
        rows = table.rows(start, stop) if table is not None else ()
        found += islice(_merged(page, rows), None if limit is None else limit - len(found))
        if whole or len(found) == limit:
            break
    return found


def _merged(page: Sequence[Entry], rows: Iterable[tuple[str, Cell]]) -> Iterator[Entry]:
    position = 0
    for name, cell in rows:
        index = _place(page, name, position)
        yield from page[position:index]
        position = index + (index < len(page) and _order_of(page[index]) == name)
        if isinstance(cell, Entry):
            yield cell
    yield from page[position:]


def _place(page: Sequence[Entry], name: str, start: int) -> int:
    """Where a name stands in a page, looked for in growing steps: rows that are close together are found at once."""
    step, end = 1, start
    while end < len(page) and _order_of(page[end]) < name:
        start, end, step = end + 1, end + step, step * 2
    return bisect_left(page, name, start, min(end, len(page)), key=_order_of)


def _order_of(entry: Entry) -> str:
    key = entry.key
    return f"{key.namespace}/{key.name}"
