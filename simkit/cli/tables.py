"""Rows as a table for people: on a terminal, in a file, in markdown, in HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.cli import terminal
from simkit.meta.visible_text import html_text
from simkit.present import fitted_table, readable_table
from simkit.present.escaping import markdown_cell
from simkit.present.readable_table import head, is_missing, padded

Row = Mapping[Any, Any]

_COLORS: Final[Mapping[str, str]] = {
    "critical": "bold red",
    "high": "red",
    "medium": "yellow",
    "broken": "red",
    "gained": "red",
    "lost": "green",
    "met": "green",
}
"""Of words that stand alone in a cell."""


def plain(value: Any) -> str:
    """The value of a cell of CSV: lists joined by commas, nothing for nothing."""
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def markdown(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The table in markdown."""
    cells = ([markdown_cell(readable_table.cell(value)) for value in row] for row in _cells(columns, rows))
    lines = [[head(name) for name in columns], ["---"] * len(columns), *cells]
    return "".join(f"{line}\n" for line in padded(lines, "| ", " | ", " |"))


def aligned(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The table with one line a row, for files and pipes."""
    return _without_heads(readable_table.aligned(_heads(columns), _cells(columns, rows)))


def fitted(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The table as wide as the terminal, with colours unless they are not wanted."""
    import shutil  # whose formats of archives no server needs

    width = shutil.get_terminal_size().columns
    heads, cells = _heads(columns), _cells(columns, rows)
    return _without_heads(fitted_table.fitted(heads, cells, width=width, color=terminal.has_color(), styles=_COLORS))


def _without_heads(text: str) -> str:
    return text if terminal.settings.heads else text.partition("\n")[2]


def html(columns: Sequence[str], rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """A page with the table, below some notes."""
    table = readable_table.html_table([head(name) for name in columns], _cells(columns, rows))
    told = "".join(f"<p><b>{html_text(text)}</b></p>" for text in notes)
    return readable_table.html_page("simkit", told + table)


def _cells(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[tuple[Any, ...]]:
    return readable_table.shown_rows(columns, (tuple(row[name] for name in columns) for row in rows))


def _heads(columns: Sequence[str]) -> list[str]:
    """Heads in capitals, as kubectl writes them."""
    return [head(name).upper() for name in columns]
