"""Tables as wide as a terminal, whose cells break between words, and within a name at its signs and capitals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from simkit.meta.visible_text import one_line
from simkit.present.readable_table import cell, is_number, text_width

_BETWEEN: Final = "  "
_NARROWEST: Final = 4
"""Letters of a column when not even the parts of words fit the terminal."""
_BROKEN: Final = 10
"""Letters of a column whose words are broken anywhere, before those of another column are."""
_JOINT: Final = re.compile(r"(?<=[-./:@=_,])(?=[^\s])|(?<=[a-z])(?=[A-Z])")
_CODES: Final[Mapping[str, str]] = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}
_PLAIN: Final = "\x1b[0m"


def fitted(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    width: int,
    color: bool = True,
    styles: Mapping[str, str] | None = None,
) -> str:
    """A table as wide as a terminal: cells go over several lines where they have to, and nothing is cut off.

    Parameters
    ----------
    width
        The letters of a line.
    styles
        How words stand out that are alone in a cell: ``critical``: ``bold red``.

    Examples
    --------
    >>> rows = [("ann", "ClusterRoleBinding admins"), ("sa:ci/deploy", "no binding")]
    >>> print(fitted(["WHO", "BINDING"], rows, width=28, color=False))
    WHO           BINDING
    ann           ClusterRole
                  Binding admins
    sa:ci/deploy  no binding
    <BLANKLINE>
    """
    listed = [list(row) for row in rows]
    texts = [[one_line(cell(value)) for value in row] for row in listed]
    right = [bool(listed) and all(is_number(row[place]) for row in listed) for place in range(len(heads))]
    widths = _widths([[*column] for column in zip(heads, *texts)], width)
    known = dict(styles or {}) if color else {}
    lines = list(_lines(heads, widths, right, dict.fromkeys(heads, "bold") if color else {}))
    for row in texts:
        lines += _lines(row, widths, right, known)
    return "".join(f"{line}\n" for line in lines)


def _widths(columns: Sequence[Sequence[str]], width: int) -> list[int]:
    """The widths of columns: texts are broken between words, then at the joints of words, then anywhere.

    Anywhere, the columns with the longest parts of words are broken first, so that the words of others stay whole.
    """
    room = width - len(_BETWEEN) * (len(columns) - 1)
    widths = [min(max(map(text_width, texts)), max(room, 1)) for texts in columns]
    for parts, floor in ((str.split, _NARROWEST), (_parts, _NARROWEST), (_letters, _BROKEN), (_letters, _NARROWEST)):
        order = list(widths) if parts is _letters else widths
        least = [max((text_width(part) for text in texts for part in parts(text)), default=0) for texts in columns]
        least = [max(one, floor) for one in least]
        while sum(widths) > room and any(one > narrow for one, narrow in zip(widths, least)):
            widest = max(range(len(widths)), key=lambda place: (widths[place] > least[place], order[place]))
            widths[widest] -= 1
    return widths


def _parts(text: str) -> list[str]:
    return [part for word in text.split() for part in _JOINT.split(word)]


def _letters(text: str) -> list[str]:
    return [text[:1]]


def _lines(
    texts: Sequence[str], widths: Sequence[int], right: Sequence[bool], styles: Mapping[str, str]
) -> Iterator[str]:
    """The lines of one row, with the styles of whole cells."""
    wrapped = [list(_wrapped(text, width)) for text, width in zip(texts, widths)]
    for pieces in zip_longest(*wrapped, fillvalue=""):
        cells = []
        for text, piece, width, at_right in zip(texts, pieces, widths, right):
            blank = " " * (width - text_width(piece))
            shown = _styled(piece, styles.get(text, ""))
            cells.append(blank + shown if at_right else shown + blank)
        yield _BETWEEN.join(cells).rstrip()


def _styled(text: str, style: str) -> str:
    codes = ";".join(_CODES[word] for word in style.split())
    return f"\x1b[{codes}m{text}{_PLAIN}" if codes and text else text


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a cell."""
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if text_width(joined) <= width:
            line = joined
            continue
        if text_width(word) <= width:
            yield line
            line = word
            continue
        start = f"{line} " if line else ""
        *full, line = _filled([start, *_short_parts(word, width)], width)
        yield from full
    yield line


def _filled(parts: Iterable[str], width: int) -> Iterator[str]:
    """Parts of a word one behind the other, on as many lines as they need."""
    line = ""
    for part in parts:
        if line and text_width(line + part) > width:
            yield line.rstrip()
            line = ""
        line += part
    yield line


def _short_parts(word: str, width: int) -> Iterator[str]:
    """The parts of a word; one that is still too long is broken anywhere."""
    for part in _JOINT.split(word):
        step = width if part.isascii() else max(width // 2, 1)
        yield from (part[start : start + step] for start in range(0, len(part), step))
