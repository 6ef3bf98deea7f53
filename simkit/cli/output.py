"""The option ``--output``, and the writer of all answers: tables for people, data for programs, reports for CI."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TextIO

import orjson

from simkit.cli import limits, reports, tables
from simkit.cli.notes import note
from simkit.cli.reports import Case
from simkit.cli.tables import Row
from simkit.cli.terminal import is_terminal, write_escaped
from simkit.present.escaping import csv_cell, json_for_terminal, markdown_block
from simkit.present.readable_table import is_missing

FORMATS: Final = ("table", "wide", "json", "yaml", "jsonl", "csv", "markdown", "html")
COMPLETE: Final = ("wide", "json", "yaml", "jsonl", "csv")
"""The formats with every column."""
VALUES: Final = ("json", "yaml", "jsonl")
"""The formats that keep lists and numbers."""
_HELP: Final = "the format of the answer (default: table; wide: with every column)"


def add_output(parser: argparse.ArgumentParser, *, faults: bool = False) -> None:
    """Add the option ``--output`` to a command; with ``faults`` it can also be a report for build servers."""
    formats = (*FORMATS, *reports.FORMS) if faults else FORMATS
    parser.add_argument(
        "-o", "--output", choices=formats, default="table", metavar="FORMAT", help=f"{_HELP}: {', '.join(formats)}"
    )
    parser.add_argument("--no-headers", action="store_true", help="print tables without the header row")


def write_rows(
    columns: Sequence[str],
    rows: Iterable[Row],
    form: str,
    *,
    shown: Sequence[str] | None = None,
    short: Callable[[Row], Row] | None = None,
    empty: str = "nothing was found",
    cases: Callable[[], Sequence[Case]] | None = None,
) -> None:
    """Write an answer of many rows to standard output.

    Parameters
    ----------
    columns
        The columns of the complete rows, which ``COMPLETE`` formats have.
    form
        One of ``FORMATS``, or of ``reports.FORMS`` where there are ``cases``.
    shown, short
        The columns that people see, and how a row becomes such a row; without them, the complete ones.
    empty
        Said instead of a table without rows: on standard error, as kubectl does it.
    cases
        Makes the report for build servers.
    """
    if form in reports.FORMS and cases is not None:
        write_report(form, cases())
        return
    out, listed = sys.stdout, list(rows)
    if form not in COMPLETE:
        listed = list(map(short, listed)) if short else listed
        columns = shown or columns
    if form in ("table", "wide"):
        limits.repeat_if_quiet()
        _write_table(columns, listed, out, empty)
    elif form in COMPLETE:
        out.write(_WRITERS[form](*limits.of_rows(columns, listed)))
    elif form == "markdown":
        out.write(limits.quoted() + tables.markdown(columns, listed))
    else:
        out.write(tables.html(columns, listed, limits.texts()))


def write_report(form: str, cases: Sequence[Case], *, name: str = "") -> None:
    """Write cases as JUnit or SARIF."""
    title = f"simkit {name}".strip()
    told = limits.caveats()
    if form == "junit":
        text = reports.junit(title, cases, told)
    else:
        text = json_text(reports.sarif(cases, told, name=title.replace(" ", "-")))
    sys.stdout.write(text)


def write_value(value: Mapping[str, Any] | Sequence[Any], form: str) -> None:
    """Write an answer that is a single value: as YAML, or as JSON on several lines or on one."""
    sys.stdout.write({"json": json_text, "yaml": yaml_text}.get(form, _json_line)(limits.of_value(value)))


def write_text(text: str, form: str) -> None:
    """Write an explanation of several lines: as it is for a table, as a block for markdown."""
    sys.stdout.write(limits.quoted() + markdown_block(text) if form == "markdown" else f"{text}\n")


def json_text(value: Any) -> str:
    """A value as indented JSON with a line end."""
    return json_for_terminal(orjson.dumps(value, option=_PRETTY, default=_json_value).decode()) + "\n"


def yaml_text(value: Any) -> str:
    """A value as YAML, with the same values as its JSON."""
    import yaml

    plain = orjson.loads(orjson.dumps(value, option=_COMPACT, default=_json_value))
    text: str = yaml.safe_dump(plain, sort_keys=False, allow_unicode=False, width=120)
    return text


_PRETTY: Final = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY
_COMPACT: Final = orjson.OPT_SERIALIZE_NUMPY


def _json_line(value: Any) -> str:
    return json_for_terminal(orjson.dumps(value, option=_COMPACT, default=_json_value).decode()) + "\n"


def _json_value(value: Any) -> Any:
    """The JSON form of other values: times as text, collections as lists, our own values as text."""
    if is_missing(value):
        return None
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def _write_table(columns: Sequence[str], rows: Sequence[Row], out: TextIO, empty: str) -> None:
    if not rows:
        note(empty)
    elif out is sys.stdout and is_terminal():
        write_escaped(tables.fitted(columns, rows))
    else:
        out.write(tables.aligned(columns, rows))


def _json(columns: Sequence[str], rows: Sequence[Row]) -> str:
    return json_text([{name: row[name] for name in columns} for row in rows])


def _yaml(columns: Sequence[str], rows: Sequence[Row]) -> str:
    return yaml_text([{name: row[name] for name in columns} for row in rows])


def _json_lines(columns: Sequence[str], rows: Sequence[Row]) -> str:
    return "".join(_json_line({name: row[name] for name in columns}) for row in rows)


def _csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_csv_cell(row[name]) for name in columns] for row in rows)
    return out.getvalue()


def _csv_cell(value: Any) -> str:
    """A cell; a number, also a negative one, is no formula."""
    text = tables.plain(value)
    return text if isinstance(value, int | float) else csv_cell(text)


_WRITERS: Final[Mapping[str, Callable[[Sequence[str], Sequence[Row]], str]]] = {
    "json": _json,
    "yaml": _yaml,
    "jsonl": _json_lines,
    "csv": _csv,
}
