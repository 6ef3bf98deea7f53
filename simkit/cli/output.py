"""How a command writes its answer: as a table, JSON, CSV or markdown."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TextIO
from unicodedata import combining, east_asian_width

import orjson

from simkit.cli.notes import note
from simkit.meta.escaping import (
    csv_cell,
    json_for_terminal,
    markdown_block,
    markdown_cell,
    one_line,
    terminal_text,
)

FORMATS: Final = ("table", "json", "csv", "markdown")

WIDEST: Final = 120
"""Letters to which a column is padded: one name of a megabyte shall not make every line that long."""

Row = Mapping[Any, Any]


def add_output(parser: argparse.ArgumentParser) -> None:
    """Give a command the option ``--output``."""
    parser.add_argument(
        "-o", "--output", choices=FORMATS, default="table", help="how to write the answer (default: table)"
    )


def write_rows(
    columns: Sequence[str],
    rows: Iterable[Row],
    form: str,
    *,
    stream: TextIO | None = None,
    empty: str = "nothing was found",
) -> None:
    """Write rows in one of the ``FORMATS``, to standard output unless told otherwise.

    For people, ``empty`` is said instead of a table without rows: on standard error, as kubectl does it.
    """
    out, listed = stream or sys.stdout, list(rows)
    if form == "json":
        out.write(json_text([{name: row[name] for name in columns} for row in listed]))
    elif form == "csv":
        _write_csv(columns, listed, out)
    elif form == "table" and not listed:
        note(empty)
    else:
        out.write((_markdown if form == "markdown" else _table)(columns, listed))


def json_text(value: Any) -> str:
    """A value as indented JSON with a line end."""
    return json_for_terminal(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=list).decode()) + "\n"


def write_text(text: str, form: str) -> None:
    """Write an explanation of several lines: as it is for a table, as a block for markdown."""
    sys.stdout.write(markdown_block(text) if form == "markdown" else f"{text}\n")


class TerminalText:
    """A stream on which nothing acts on the terminal or the build log that shows it.

    Commands write texts of a cluster, which anybody may have chosen, and never colours or movements of their own.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text with control characters written out."""
        return self._stream.write(terminal_text(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _write_csv(columns: Sequence[str], rows: Sequence[Row], out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([csv_cell(_plain(row[name])) for name in columns] for row in rows)


def _markdown(columns: Sequence[str], rows: Sequence[Row]) -> str:
    lines = [columns, ["---"] * len(columns), *([markdown_cell(_plain(row[name])) for name in columns] for row in rows)]
    return "".join(f"{line}\n" for line in _aligned(lines, "| ", " | ", " |"))


def _table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    head = [name.upper().replace("_", " ") for name in columns]
    lines = [head, *([one_line(_plain(row[name])) for name in columns] for row in rows)]
    return "".join(f"{line.rstrip()}\n" for line in _aligned(lines, "", "  ", ""))


def _aligned(lines: Sequence[Sequence[str]], first: str, between: str, last: str) -> Iterator[str]:
    """The lines with their columns below each other. What is wider than ``WIDEST`` makes its own line alone longer."""
    widths = [max((width for cell in cells if (width := _width(cell)) <= WIDEST), default=0) for cells in zip(*lines)]
    for cells in lines:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths))
        yield f"{first}{between.join(padded)}{last}"


def _width(text: str) -> int:
    """The places that a text takes: letters of East Asia take two, marks above other letters none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _plain(value: Any) -> str:
    """A cell as text: lists joined by commas, nothing for nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
