"""The lines of the items of a JSON list, which fast decoders do not tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import JSONDecoder
from typing import Final

_SPACE: Final = " \t\r\n"
_DECODER: Final = JSONDecoder(parse_int=str, parse_float=str)
"""Numbers stay texts: only the ends of values are wanted."""


def item_lines(text: str, line: int) -> Sequence[int]:
    """The line of each item of a list: of an array, or of the field ``items`` of an object; empty for other texts.

    Parameters
    ----------
    text
        A whole JSON document.
    line
        The line of its file on which the text begins.

    Notes
    -----
    O(text), with the scanner of Python's own ``json``: some 100 MB a second.

    Examples
    --------
    >>> item_lines('{"kind": "List", "items": [{"a": 1},\\n\\n{"a": 2}]}', 1)
    [1, 3]
    """
    try:
        starts = list(_starts(text))
    except (ValueError, StopIteration, IndexError, RecursionError):  # what is odd is told by whoever decodes the text
        return ()
    lines, counted = [], 0
    for start in starts:
        line += text.count("\n", counted, start)
        counted = start
        lines.append(line)
    return lines


def _starts(text: str) -> Iterator[int]:
    start = _behind_space(text, 0)
    if text[start] == "[":
        yield from _elements(text, start)
    elif text[start] == "{":
        items = _field(text, start, "items")
        if items is not None and text[items] == "[":
            yield from _elements(text, items)


def _field(text: str, start: int, name: str) -> int | None:
    """The place of the value of a field; of a field that is there twice, the last one, which counts."""
    found, place = None, _behind_space(text, start + 1)
    while text[place] == '"':
        key, place = _DECODER.raw_decode(text, place)
        place = _behind_space(text, _behind_space(text, place) + 1)  # the colon
        if key == name:
            found = place
        place = _behind_space(text, _end(text, place))
        if text[place] != ",":
            break
        place = _behind_space(text, place + 1)
    return found


def _elements(text: str, start: int) -> Iterator[int]:
    place = _behind_space(text, start + 1)
    while text[place] != "]":
        yield place
        place = _behind_space(text, _end(text, place))
        if text[place] != ",":
            break
        place = _behind_space(text, place + 1)


def _end(text: str, start: int) -> int:
    return _DECODER.raw_decode(text, start)[1]


def _behind_space(text: str, start: int) -> int:
    while text[start] in _SPACE:
        start += 1
    return start
