"""Brace expansion: ``{a,b}`` and ``{1..9}`` make several words of one.

References
----------
Bash Reference Manual 5.2, 3.5.1 Brace Expansion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from simkit.simulation.shell.patterns import TooLong
from simkit.simulation.shell.tree import Piece, Text, Word

_SPAN: Final = re.compile(
    r"(-?\d{1,18})\.\.(-?\d{1,18})(?:\.\.(-?\d{1,18}))?|([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?"
)
_MOST_WORDS: Final = 100_000
_MOST_PIECES: Final = 1_000_000
_PARTS: Final = re.compile(r"[{},]|[^{},]+")
_DEEPEST: Final = 20


def spread(word: Word) -> Sequence[Word]:
    """The words that a word becomes. Raises TooLong.

    Examples
    --------
    >>> [each[0].text for each in spread((Text("a{b,c}{1..2}", False),))]
    ['ab1', 'ab2', 'ac1', 'ac2']
    """
    if not any(isinstance(piece, Text) and not piece.quoted and "{" in piece.text for piece in word):
        return (word,)
    letters: list[Piece] = []
    for piece in word:
        if isinstance(piece, Text) and not piece.quoted:
            letters += [Text(each, False) for each in _PARTS.findall(piece.text)]
        else:
            letters.append(piece)
    if len(letters) > _MOST_PIECES:
        raise TooLong
    return [_whole(each) for each in _spread(letters, 0)]


def _whole(letters: Sequence[Piece]) -> Word:
    """Letters as a word again."""
    made: list[Piece] = []
    for each in letters:
        last = made[-1] if made else None
        if isinstance(each, Text) and isinstance(last, Text) and not each.quoted and not last.quoted:
            made[-1] = Text(last.text + each.text, False)
        else:
            made.append(each)
    return tuple(made)


def _is(piece: Piece, letter: str) -> bool:
    return isinstance(piece, Text) and not piece.quoted and piece.text == letter


def _spread(letters: list[Piece], depth: int) -> list[list[Piece]]:
    """The words of letters: those before the first braces, with each choice, with each of what the rest becomes."""
    if depth > _DEEPEST:
        raise TooLong
    made: list[list[Piece]] = [[]]
    start = 0
    for opening, closing, choices in _braces(letters):
        further = []
        for choice in choices:
            further += [choice] if isinstance(choice, list) and not _has_braces(choice) else _spread(choice, depth + 1)
        made = _product(made, letters[start:opening], further)
        start = closing + 1
    return [[*each, *letters[start:]] for each in made]


def _product(heads: list[list[Piece]], between: list[Piece], tails: list[list[Piece]]) -> list[list[Piece]]:
    size = len(tails) * sum(map(len, heads)) + len(heads) * sum(map(len, tails)) + len(between) * len(heads)
    if len(heads) * len(tails) > _MOST_WORDS or size > _MOST_PIECES:
        raise TooLong
    return [[*head, *between, *tail] for head in heads for tail in tails]


def _has_braces(letters: list[Piece]) -> bool:
    return any(_is(each, "{") for each in letters)


class _Pair(NamedTuple):
    """Braces that belong together."""

    closing: int
    commas: list[int]
    """The commas between them that stand in no further braces."""


def _braces(letters: list[Piece]) -> Iterator[tuple[int, int, list[list[Piece]]]]:
    """The braces that count, outermost ones only: where they open and close, and the choices between them."""
    pairs = _pairs(letters)
    position = 0
    while position < len(letters):
        pair = pairs.get(position)
        choices = None if pair is None else _choices(letters, position, pair)
        if pair is not None and choices is not None:
            yield position, pair.closing, choices
            position = pair.closing
        position += 1


def _pairs(letters: list[Piece]) -> dict[int, _Pair]:
    """The braces that belong together, by the positions where they open."""
    found, opened = dict[int, _Pair](), list[tuple[int, list[int]]]()
    for position, each in enumerate(letters):
        if _is(each, "{"):
            opened.append((position, []))
        elif _is(each, "}") and opened:
            opening, commas = opened.pop()
            found[opening] = _Pair(position, commas)
        elif _is(each, ",") and opened:
            opened[-1][1].append(position)
    return found


def _choices(letters: list[Piece], opening: int, pair: _Pair) -> list[list[Piece]] | None:
    """The choices between braces; None if they mean themselves."""
    if pair.commas:
        ends = [opening, *pair.commas, pair.closing]
        return [letters[start + 1 : end] for start, end in pairwise(ends)]
    inner = letters[opening + 1] if pair.closing == opening + 2 else None
    span = _SPAN.fullmatch(inner.text) if isinstance(inner, Text) and not inner.quoted else None
    return None if span is None else [[Text(each, False)] for each in _span(span)]


def _span(found: re.Match[str]) -> list[str]:
    if found[4]:
        first, last, step = ord(found[4]), ord(found[5]), abs(int(found[6] or "1")) or 1
        return [chr(each) for each in _numbers(first, last, step)]
    first, last, step = int(found[1]), int(found[2]), abs(int(found[3] or "1")) or 1
    padded = any(re.fullmatch(r"-?0\d+", each) for each in (found[1], found[2]))
    width = max(len(found[1]), len(found[2])) if padded else 0
    return [f"{each:0{width}d}" if width else str(each) for each in _numbers(first, last, step)]


def _numbers(first: int, last: int, step: int) -> range:
    made = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if len(made) > _MOST_WORDS:
        raise TooLong
    return made
