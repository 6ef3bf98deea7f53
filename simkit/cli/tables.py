"""Rows as a table for people: on a terminal, in a file, in markdown, in HTML."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final
from unicodedata import combining, east_asian_width

from simkit.cli.terminal import has_color
from simkit.meta.escaping import markdown_cell, one_line

Row = Mapping[Any, Any]
WIDEST: Final = 120
"""The width to which a column is padded at most, since one long name must not lengthen every line."""

_COLORS: Final[Mapping[str, str]] = {
    "critical": "bold red",
    "high": "red",
    "medium": "yellow",
    "broken": "red",
    "gained": "red",
    "lost": "green",
    "met": "green",
}
"""Colours of words that stand alone in a cell."""
_STYLE: Final = (
    "body{font:14px sans-serif}table{border-collapse:collapse}"
    "th,td{text-align:left;vertical-align:top;padding:.3em .8em;border-bottom:1px solid #ddd}"
)


def is_missing(value: Any) -> bool:
    """True if a cell is empty: None, or a missing value of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def plain(value: Any) -> str:
    """A cell as text: lists joined by commas, missing values empty."""
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def markdown(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """A table in markdown."""
    lines = [columns, ["---"] * len(columns), *([markdown_cell(plain(row[name])) for name in columns] for row in rows)]
    return "".join(f"{line}\n" for line in _aligned(lines, "| ", " | ", " |"))


def aligned(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """A table with one line per row, for files and pipes."""
    lines = [_heads(columns), *([one_line(plain(row[name])) for name in columns] for row in rows)]
    return "".join(f"{line.rstrip()}\n" for line in _aligned(lines, "", "  ", ""))


def _aligned(lines: Sequence[Sequence[str]], first: str, between: str, last: str) -> Iterator[str]:
    """The lines with aligned columns. A cell wider than ``WIDEST`` lengthens only its own line."""
    widths = [max((width for cell in cells if (width := _width(cell)) <= WIDEST), default=0) for cells in zip(*lines)]
    for cells in lines:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths))
        yield f"{first}{between.join(padded)}{last}"


def _width(text: str) -> int:
    """The number of columns that a text takes: East Asian letters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def fitted(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """A table as wide as the terminal: cells wrap over several lines, and nothing is cut off."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in _heads(columns):
        made.add_column(head, overflow="fold")
    for row in rows:
        cells = (one_line(plain(row[name])) for name in columns)
        made.add_row(*(Text(cell, _COLORS.get(cell, "")) for cell in cells))
    stream = io.StringIO()
    width = shutil.get_terminal_size().columns
    Console(file=stream, width=width, force_terminal=True, no_color=not has_color(), highlight=False).print(made)
    return "\n".join(line.rstrip() for line in stream.getvalue().split("\n"))


def html(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """A web page with the table."""
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(plain(row[name]))}</td>" for name in columns) + "</tr>" for row in rows
    )
    page = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
    return f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>simkit</title>\n<style>{_STYLE}</style>\n{page}'


def _heads(columns: Sequence[str]) -> list[str]:
    return [name.upper().replace("_", " ") for name in columns]
