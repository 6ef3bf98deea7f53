"""Diagrams for lessons, as SVG: what parties say to each other, and steps that follow each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from textwrap import wrap
from typing import Final

from simkit.meta.escaping import html_text

INK: Final = "#333333"
PALE: Final = "#EAF2F8"
STRONG: Final = "#0072B2"
NOTE: Final = 'fill="#FFF7E0" stroke="#E69F00"'
LETTER: Final = 7.2
"""Width of a letter in pixels, generously."""
ROW: Final = 34
BOX: Final = 30
MARGIN: Final = 14
LINE: Final = 15
"""Height of a line of a message that has several."""
LETTERS: Final = 40
"""The letters of a message in one line."""


@dataclass(frozen=True)
class Diagram:
    """A drawing that notebooks show. ``svg`` is its source, ``text`` says the same in words."""

    svg: str
    text: str

    def _repr_html_(self) -> str:
        """The drawing as a part of the page, so that it becomes smaller on a narrow one. An image would be cut off."""
        return f"<div>{self.svg}</div>"

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def sequence_diagram(messages: Sequence[tuple[str, str, str]]) -> Diagram:
    """A drawing of messages between parties, from top to bottom.

    Parameters
    ----------
    messages
        From whom, to whom, and what. A message to oneself is a note.

    Returns
    -------
    Diagram
        Parties stand side by side, in the order in which they first appear.

    Examples
    --------
    >>> sequence_diagram([("ann", "server", "GET pods"), ("server", "ann", "403")])
    ann -> server: GET pods
    server -> ann: 403
    """
    parties = list(dict.fromkeys(name for sender, receiver, _ in messages for name in (sender, receiver)))
    lines = [wrap(text, LETTERS) or [""] for _, _, text in messages]
    longest = max((len(line) for each in lines for line in each), default=0)
    step = max(150.0, longest * LETTER + 30, *((len(name) * LETTER + 40) for name in parties))
    place = {name: MARGIN + step / 2 + number * step for number, name in enumerate(parties)}
    rows = list(accumulate(ROW + LINE * (len(each) - 1) for each in lines))
    height = BOX + (rows[-1] if rows else 0) + ROW + MARGIN
    parts = [*_life_lines(place, height)]
    for (sender, receiver, _), text, row in zip(messages, lines, rows):
        parts += _message(place[sender], place[receiver], BOX + MARGIN + row, text, step)
    told = "\n".join(f"{sender} -> {receiver}: {text}" for sender, receiver, text in messages)
    return Diagram(_svg(step * len(parties) + 2 * MARGIN, height, parts, told), told)


def chain_diagram(steps: Sequence[tuple[str, str]]) -> Diagram:
    """A drawing of steps in a row, each with a note below it.

    Parameters
    ----------
    steps
        The name of each step, and a note (may be empty).

    Returns
    -------
    Diagram
        Boxes with arrows from left to right.

    Examples
    --------
    >>> chain_diagram([("authentication", "who?"), ("authorization", "may they?")])
    authentication (who?) -> authorization (may they?)
    """
    parts: list[str] = []
    left = float(MARGIN)
    for number, (name, note) in enumerate(steps):
        width = max(len(name), len(note)) * LETTER + 24
        if number:
            parts.append(_arrow(left - 22, MARGIN + BOX / 2, left - 2, MARGIN + BOX / 2))
        parts.append(_box(left, MARGIN, width, name))
        parts.append(_words(left + width / 2, MARGIN + BOX + 18, note, "middle", size=12))
        left += width + 24
    told = " -> ".join(f"{name} ({note})" if note else name for name, note in steps)
    return Diagram(_svg(left, MARGIN * 2 + BOX + 22, parts, told), told)


def _life_lines(place: dict[str, float], height: float) -> Iterator[str]:
    for name, middle in place.items():
        width = len(name) * LETTER + 24
        yield f'<line x1="{middle}" y1="{MARGIN + BOX}" x2="{middle}" y2="{height}" stroke="#BBBBBB"/>'
        yield _box(middle - width / 2, MARGIN, width, name)


def _message(start: float, end: float, y: float, lines: Sequence[str], step: float) -> Iterator[str]:
    """An arrow with its lines above it, or a note for a message to oneself."""
    above = LINE * (len(lines) - 1)
    if start == end:
        width = max(max(map(len, lines)) * LETTER + 12, 20)
        yield f'<rect x="{start - width / 2}" y="{y - 16 - above}" width="{width}" height="{22 + above}" {NOTE}/>'
        middle, last = start, y
    else:
        yield _arrow(start, y, end, y)
        middle = start + (1 if end > start else -1) * min(abs(end - start), step) / 2
        last = y - 6
    for number, line in enumerate(reversed(lines)):
        yield _words(middle, last - LINE * number, line, "middle", size=12)


def _box(left: float, top: float, width: float, text: str) -> str:
    shape = f'<rect x="{left}" y="{top}" width="{width}" height="{BOX}" rx="5" fill="{PALE}" stroke="{STRONG}"/>'
    return shape + _words(left + width / 2, top + 20, text, "middle")


def _arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    back = 7 if x2 > x1 else -7
    head = f"{x2},{y2} {x2 - back},{y2 - 4} {x2 - back},{y2 + 4}"
    line = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{INK}" stroke-width="1.3"/>'
    return f'{line}<polygon points="{head}" fill="{INK}"/>'


def _words(x: float, y: float, text: str, anchor: str, *, size: int = 13) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{INK}">{html_text(text)}</text>'


def _svg(width: float, height: float, parts: Sequence[str], told: str) -> str:
    """The drawing, on white, so that it can be read on dark pages too, with its text for screen readers."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" width="{width}" '
        f'style="max-width:100%;height:auto" height="{height}" font-family="sans-serif">'
    )
    ground = f'<title>{html_text(told)}</title><rect width="100%" height="100%" fill="white"/>'
    return head + ground + "".join(parts) + "</svg>"
