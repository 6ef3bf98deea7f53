"""YAML documents between lines of dashes, and long lists item by item."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from simkit.language.yaml.complaints import BrokenText, Repeat
from simkit.language.yaml.decode import decode
from simkit.snapshot.document import CUT, REPAIR, REPEATED, Advance, Document, named
from simkit.snapshot.report import Report

_SEPARATOR: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_DIRECTIVE: Final = re.compile(r"^%.*$", re.MULTILINE)
_NOTHING: Final = re.compile(r"(?:[ \t]*+(?:#[^\n]*+|\.\.\.[ \t]*+)?+(?:\r?\n|\Z))*+")
_ITEMS: Final = re.compile(r"^items:[ \t]*\r?\n(?=( *)- )", re.MULTILINE)
_ENDS_ITEMS: Final = re.compile(r"^[^ \-#\r\n]", re.MULTILINE)
_TABLE: Final = re.compile(r"(?:NAMESPACE|NAME) {2,}\S")


def yaml_documents(file: str, text: str, line: int, report: Report, advance: Advance) -> Iterator[Document]:
    """The documents of a YAML text, in order. ``line`` is the line of the file on which the text begins."""
    for chunk, here in _chunks(text, line):
        # A directive stands before the first document, or after the end mark of another.
        bare = _DIRECTIVE.sub("", chunk) if here == line or "\n..." in chunk else chunk
        if _NOTHING.fullmatch(bare):
            advance(len(chunk))
            continue
        repeats: list[Repeat] = []
        try:
            document = _list(file, bare, here, report, advance, repeats) or _single(bare, here, advance, repeats)
        except BrokenText as error:
            advance(len(chunk))
            _report_broken_yaml(file, bare, error, report)
            continue
        for at, key in dict.fromkeys(repeats):
            report.add(file, at, f"the field {key!r} is there twice in one mapping", REPEATED, weight="changed")
        if document.value is not None:
            yield document


def _report_broken_yaml(file: str, text: str, error: BrokenText, report: Report) -> None:
    if _TABLE.match(text.lstrip()):
        report.add(
            file,
            error.line,
            "a table for people, not objects",
            "kubectl get needs -o yaml; see simkit dump",
        )
    else:
        report.add(file, error.line, f"{named(text)} that is not YAML: {error.what}", REPAIR)


def _chunks(text: str, line: int) -> Iterator[tuple[str, int]]:
    """The parts between lines of three dashes, each with its first line. In YAML such a line always separates."""
    start = 0
    for mark in _SEPARATOR.finditer(text):
        if mark.start() > start:
            yield text[start : mark.start()], line
        line += text.count("\n", start, mark.end())
        start = mark.end()
    yield text[start:], line


def _single(text: str, line: int, advance: Advance, repeats: list[Repeat]) -> Document:
    value = decode(text, first_line=line, repeats=repeats)
    advance(len(text))
    return Document(value, line + _leading_lines(text))


def _leading_lines(text: str) -> int:
    """The number of leading empty lines and comments."""
    match = re.match(r"(?:[ \t]*+(?:#[^\n]*+)?+\r?\n)*+", text)
    return match.group().count("\n") if match else 0


def _list(file: str, text: str, line: int, report: Report, advance: Advance, repeats: list[Repeat]) -> Document | None:
    """A list parsed item by item, so that a broken item affects only itself; None if the text is no such list."""
    begin = _ITEMS.search(text)
    if begin is None:
        return None
    ending = _ENDS_ITEMS.search(text, begin.end())
    stop = ending.start() if ending else len(text)
    head = decode(text[: begin.start()] + "\n" + text[stop:], first_line=line, repeats=repeats)
    if not isinstance(head, dict):
        return None
    whole = "kind" in head
    marks = [mark.start() for mark in re.finditer(f"^{begin.group(1)}- ", text[begin.end() : stop], re.MULTILINE)]
    starts = [begin.end() + mark for mark in marks]
    items, lines, problems = _items(text, line, [*starts, stop], advance, repeats)
    if any("undefined alias" in error.what for error, _ in problems):
        return None
    for error, broken in problems:
        report.add(file, error.line, f"{named(broken)} that is not YAML: {error.what}", REPAIR)
    if not whole:  # clients write the kind after the items
        head["kind"] = "List"
        report.add(file, line + text.count("\n"), f"the list breaks off after {len(items):,} items", CUT)
    return Document({**head, "items": items}, line + _leading_lines(text), lines, whole)


def _items(
    text: str, line: int, bounds: Sequence[int], advance: Advance, repeats: list[Repeat]
) -> tuple[list[Any], list[int], list[tuple[BrokenText, str]]]:
    items: list[Any] = []
    lines: list[int] = []
    problems: list[tuple[BrokenText, str]] = []
    here = line + text.count("\n", 0, bounds[0])
    for start, end in pairwise(bounds):
        chunk = text[start:end]
        try:
            items += decode(chunk, first_line=here, repeats=repeats)
            lines.append(here)
        except BrokenText as error:
            problems.append((error, chunk))
        here += chunk.count("\n")
        advance(len(chunk))
    return items, lines, problems
