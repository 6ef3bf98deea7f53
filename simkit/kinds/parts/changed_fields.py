"""Which fields of two structures a difference shows: those that changed, and what stands around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, TypeVar

Row = TypeVar("Row")
_CONTEXT: Final = 2


def shown_fields(
    rows: Sequence[Row],
    is_changed: Callable[[Row], bool],
    show: Callable[[Sequence[Row]], Iterable[str]],
    *,
    indent: str = "\t",
) -> Iterator[str]:
    """The lines of the changed fields with two unchanged ones on either side; longer gaps are counted."""
    changed = [index for index, row in enumerate(rows) if is_changed(row)]
    shown = {near for index in changed for near in range(index - _CONTEXT, index + _CONTEXT + 1)}
    for is_shown, run in groupby(enumerate(rows), lambda row: row[0] in shown):
        group = [row for _, row in run]
        if is_shown:
            yield from show(group)
        else:
            yield f"  {indent}... // {len(group)} identical field{'s' if len(group) > 1 else ''}"
