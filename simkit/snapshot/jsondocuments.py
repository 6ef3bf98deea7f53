"""JSON documents: one, several in a row, or one per line; and the readable part of a truncated list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import orjson

from simkit.schema.strict_json import may_repeat, repeated_fields, with_repeated
from simkit.snapshot.document import CUT, REPAIR, REPEATED, Advance, Document, named
from simkit.snapshot.report import Report
from simkit.snapshot.yamldocuments import yaml_documents

_LIKE_JSON: Final = re.compile(r"""\s*[{\[]\s*(?:["{}\[\]\d]|\Z)""")
_BRACKET: Final = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_TOO_DEEP: Final = 900
"""Levels from which on the readers give up."""
_ITEMS: Final = re.compile(r'"items"\s*:\s*\[')


def json_documents(file: str, text: str, line: int, report: Report, advance: Advance) -> Iterator[Document]:
    """The documents of a JSON text: one, several in a row, or one per line. ``line`` is where the text begins."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        yield from _odd_json(file, text, line, error, report, advance)
        return
    advance(len(text))
    _report_repeated(file, text, line, value, report)
    yield Document(value, line)


def _report_repeated(file: str, text: str, line: int, value: Any, report: Report) -> None:
    """Report duplicate fields of an object, of which the last counts."""
    try:
        if not may_repeat(text, value):
            return
        paths = list(repeated_fields(with_repeated(text)))
    except (RecursionError, orjson.JSONEncodeError):
        paths = ["..."]  # too deep to be looked for
    for path in paths:
        report.add(file, line, f"the field {path} is there twice in one object", REPEATED, weight="changed")


def _odd_json(
    file: str, text: str, line: int, error: orjson.JSONDecodeError, report: Report, advance: Advance
) -> Iterator[Document]:
    """The documents of JSON lines, of several documents in a row, of YAML that begins like JSON, or of broken text."""
    first = text.lstrip().partition("\n")[0]
    if "\n---" in text:  # strings of JSON have no line breaks, so that this separates documents of YAML
        yield from yaml_documents(file, text, line, report, advance)
    elif _loads(first) is not None:
        yield from _json_lines(file, text, line, report, advance)
    elif error.msg.startswith("unexpected content after") or (_LIKE_JSON.match(text) and "\n{" in text):
        yield from _json_row(file, text, line, report, advance)
    else:
        yield from _flow_yaml_or_broken(file, text, line, error, report, advance)


def _loads(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _json_lines(file: str, text: str, line: int, report: Report, advance: Advance) -> Iterator[Document]:
    for number, each in enumerate(text.split("\n"), line):
        advance(len(each) + 1)
        if not each.strip():
            continue
        try:
            value = orjson.loads(each)
        except orjson.JSONDecodeError as error:
            report.add(file, number, f"{named(each)} that is not JSON: {error.msg}", REPAIR)
            continue
        _report_repeated(file, each, number, value, report)
        yield Document(value, number)


def _json_row(file: str, text: str, line: int, report: Report, advance: Advance) -> Iterator[Document]:
    """Documents in a row, each over several lines. After a broken one, the next that begins a line."""
    start = counted = 0
    while (start := _skip_space(text, start)) < len(text):
        line, counted = line + text.count("\n", counted, start), start
        end = _end_of_value(text, start) or _end_of_deep(text, start) or _next_that_begins_a_line(text, start)
        whole = text[start:end]
        try:
            value = orjson.loads(whole)
        except orjson.JSONDecodeError as error:
            yield from _salvaged(file, whole, line, error, report)
        else:
            _report_repeated(file, whole, line, value, report)
            yield Document(value, line)
        advance(end - start)
        start = end


def _next_that_begins_a_line(text: str, start: int) -> int:
    following = text.find("\n{", start + 1)
    return len(text) if following < 0 else following


def _flow_yaml_or_broken(
    file: str, text: str, line: int, error: orjson.JSONDecodeError, report: Report, advance: Advance
) -> Iterator[Document]:
    end = _end_of_value(text, _skip_space(text, 0))
    if end is None and not _LIKE_JSON.match(text):
        yield from yaml_documents(file, text, line, report, advance)
        return
    advance(len(text))
    yield from _salvaged(file, text, line, error, report)


def _salvaged(file: str, text: str, line: int, error: orjson.JSONDecodeError, report: Report) -> Iterator[Document]:
    """The items of a truncated list, up to the break."""
    where = line + error.lineno - 1
    begin = _ITEMS.search(text)
    too_deep: list[int] = []
    items = list(_items_before_break(text, begin.end(), too_deep)) if begin else []
    for place in too_deep:
        at = line + text.count("\n", 0, place)
        report.add(file, at, f"{named(text[place:])} that nests too deeply", "it was left out; the rest was read")
    if begin is None or not (items or too_deep):
        report.add(file, where, f"{named(text)} that is not JSON: {error.msg}", REPAIR)
        return
    head = _loads(text[: begin.start()].rstrip().rstrip(",") + "}") or {}
    whole = bool(too_deep) and _closes(text)
    if not whole:
        report.add(file, where, f"the list breaks off after {len(items):,} items: {error.msg}", CUT)
    yield Document({"apiVersion": "v1", "kind": "List", **head, "items": items}, line, whole=whole)


def _closes(text: str) -> bool:
    """True if every bracket of a text is closed."""
    begin = _skip_space(text, 0)
    end, _ = _end_of_brackets(text, begin)
    return end is not None and not text[end:].strip()


def _end_of_brackets(text: str, start: int) -> tuple[int | None, int]:
    """The place behind the bracket that closes the first one, None if it stays open, and how deep they nest."""
    depth = deepest = 0
    for found in _BRACKET.finditer(text, start):
        if found[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif found[0] in "]}":
            depth -= 1
            if not depth:
                return found.end(), deepest
    return None, deepest


def _end_of_deep(text: str, start: int) -> int | None:
    """The end of a value whose brackets are closed, but nest too deeply for the readers; None for others."""
    end, depth = _end_of_brackets(text, start)
    return end if depth >= _TOO_DEEP else None


def _items_before_break(text: str, start: int, too_deep: list[int]) -> Iterator[Any]:
    """The items of a list up to the break. Places of items that nest too deeply are appended, and passed over."""
    while (start := _skip_space(text, start)) < len(text) and text[start] == "{":
        end = _end_of_value(text, start)
        if end is None:
            end = _end_of_deep(text, start)
            if end is None:
                return
            too_deep.append(start)
        else:
            yield orjson.loads(text[start:end])
        start = _skip_space(text, end)
        if text[start : start + 1] != ",":
            return
        start += 1


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\r\n":
        start += 1
    return start


def _end_of_value(text: str, start: int) -> int | None:
    """The end of the JSON value that begins here; None if it is broken."""
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError of Python's
        return None
    return end if _loads(text[start:end]) is not None else None
