"""Diagrams for lessons, as SVG: what parties say to each other, and steps that follow each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from textwrap import wrap
from typing import Final

from simkit.meta.visible_text import html_text
from simkit.present.colours import BLUE, ORANGE

INK: Final = "#333333"
PALE: Final = "#EAF2F8"
STRONG: Final = BLUE
NOTE: Final = f'fill="#FFF7E0" stroke="{ORANGE}"'
LETTER: Final = 7.2
"""Width of a letter in pixels, generously."""
ROW: Final = 34
BOX: Final = 30
MARGIN: Final = 14
GAP: Final = 6
"""The least room between the boxes of two parties."""
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
    place, right = _places(parties, messages, lines)
    rows = list(accumulate(ROW + LINE * (len(each) - 1) for each in lines))
    height = BOX + (rows[-1] if rows else 0) + ROW + MARGIN
    parts = [*_life_lines(place, height)]
    for (sender, receiver, _), text, row in zip(messages, lines, rows):
        parts += _message(place[sender], _neighbour(place, sender, receiver), place[receiver], BOX + MARGIN + row, text)
    told = "\n".join(f"{sender} -> {receiver}: {text}" for sender, receiver, text in messages)
    return Diagram(_svg(right + MARGIN, height, parts, told), told)


def _places(
    parties: Sequence[str], messages: Sequence[tuple[str, str, str]], lines: Sequence[Sequence[str]]
) -> tuple[dict[str, float], float]:
    """The middle of each party, as near to the one before as names and messages allow, and the right end of the last.

    A message stands beside its sender, a note on both sides of it.
    """
    order = {name: number for number, name in enumerate(parties)}
    before = [len(name) * LETTER / 2 + MARGIN for name in parties]
    after, gaps = list(before), [0.0] * len(parties)
    for (sender, receiver, _), text in zip(messages, lines):
        width, number = max(map(len, text)) * LETTER + 16, order[sender]
        if sender == receiver:
            before[number] = after[number] = max(before[number], width / 2)
        else:
            gap = number if order[receiver] > number else number - 1
            gaps[gap] = max(gaps[gap], width)
    place, middle = {}, float(MARGIN)
    for name, number in order.items():
        middle += max(gaps[number - 1], after[number - 1] + before[number] + GAP) if number else before[0]
        place[name] = middle
    return place, middle + (after[-1] if after else 0)


def _neighbour(place: dict[str, float], sender: str, receiver: str) -> float:
    """The middle of the party beside the sender, towards the receiver."""
    middles, at = list(place.values()), list(place).index(sender)
    return middles[at + (place[receiver] > place[sender]) - (place[receiver] < place[sender])]


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


def _message(start: float, beside: float, end: float, y: float, lines: Sequence[str]) -> Iterator[str]:
    """An arrow with its lines above it, between the sender and its neighbour; a note for a message to oneself."""
    above = LINE * (len(lines) - 1)
    if start == end:
        width = max(max(map(len, lines)) * LETTER + 12, 20)
        yield f'<rect x="{start - width / 2}" y="{y - 16 - above}" width="{width}" height="{22 + above}" {NOTE}/>'
        middle, last = start, y
    else:
        yield _arrow(start, y, end, y)
        middle = (start + beside) / 2
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
