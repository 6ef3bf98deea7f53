"""How a command writes its answer: as a table, JSON, CSV or markdown."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TextIO

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
        out.write(_aligned(columns, listed, "github" if form == "markdown" else "plain"))


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


def _aligned(columns: Sequence[str], rows: Sequence[Row], form: str) -> str:
    from tabulate import tabulate

    head = [name.upper().replace("_", " ") if form == "plain" else name for name in columns]
    shown = markdown_cell if form == "github" else one_line
    cells = [[shown(_plain(row[name])) for name in columns] for row in rows]
    return tabulate(cells, head, tablefmt=form, disable_numparse=True, preserve_whitespace=True) + "\n"


def _plain(value: Any) -> str:
    """A cell as text: lists joined by commas, nothing for nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
