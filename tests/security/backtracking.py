"""A matcher of regular expressions that counts its steps: it tries what Python's ``re`` tries, in the same order."""

from __future__ import annotations

import re
import re._constants as codes
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

ENDLESS: Final = 400_000
"""Steps after which no end is waited for."""
_CATEGORIES: Final[dict[str, Callable[[str], bool]]] = {
    "DIGIT": str.isdigit,
    "SPACE": str.isspace,
    "WORD": lambda letter: letter.isalnum() or letter == "_",
}


class _Endless(Exception):
    pass


def steps(tree: Any, method: str, text: str) -> int:
    """The letters that one call of a method of a pattern looks at."""
    search = _Search(tree, text)
    with suppress(_Endless):
        for _ in search.found(method):
            pass
    return search.steps


def spans(tree: Any, method: str, text: str) -> list[tuple[int, int]]:
    """Where a method of a pattern finds it."""
    return list(_Search(tree, text).found(method))


class _Search:
    """One call of a method."""

    def __init__(self, tree: Any, text: str) -> None:
        self.steps = 0
        self._tree, self._text, self._flags = tree, text, tree.state.flags
        self._groups: dict[int, tuple[int, int]] = {}

    def found(self, method: str) -> Iterator[tuple[int, int]]:
        """The places from which the pattern matches to which, in their order."""
        at = 0
        while at <= len(self._text):
            end = next((end for end in self._sequence(self._tree, 0, at) if self._whole(method, end)), None)
            if end is not None:
                yield at, end
            if method in ("match", "fullmatch") or (end is not None and method == "search"):
                return
            at = end if end is not None and end > at else at + 1

    def _whole(self, method: str, end: int) -> bool:
        return method != "fullmatch" or end == len(self._text)

    def _sequence(self, tree: Any, index: int, at: int) -> Iterator[int]:
        """Where the rest of a sequence may end, from a place on."""
        if index == len(tree):
            yield at
            return
        for middle in self._item(tree[index][0], tree[index][1], at):
            yield from self._sequence(tree, index + 1, middle)

    def _item(self, operation: Any, argument: Any, at: int) -> Iterator[int]:
        self.steps += 1
        if self.steps > ENDLESS:
            raise _Endless
        if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            yield from self._repeat(operation is codes.MAX_REPEAT, argument, at)
        elif operation is codes.POSSESSIVE_REPEAT:
            yield from _first(self._repeat(True, argument, at))
        elif operation is codes.ATOMIC_GROUP:
            yield from _first(self._sequence(argument, 0, at))
        elif operation is codes.SUBPATTERN:
            for end in self._sequence(argument[-1], 0, at):
                self._groups[argument[0]] = at, end
                yield end
        elif operation is codes.BRANCH:
            for branch in argument[1]:
                yield from self._sequence(branch, 0, at)
        elif operation in (codes.ASSERT, codes.ASSERT_NOT):
            if self._looks(argument, at) == (operation is codes.ASSERT):
                yield at
        elif operation is codes.AT:
            if self._stands(argument, at):
                yield at
        elif operation is codes.GROUPREF:
            start, end = self._groups.get(argument, (0, -1))
            if end >= start and self._text.startswith(self._text[start:end], at):
                yield at + end - start
        elif at < len(self._text) and self._takes(operation, argument, self._text[at]):
            yield at + 1

    def _repeat(self, greedy: bool, argument: Any, at: int) -> Iterator[int]:
        least, most, tree = argument
        tried = [(at, self._sequence(tree, 0, at))]
        if not greedy and least == 0:
            yield at
        while tried:
            place, ends = tried[-1]
            count = len(tried) - 1
            end = next(ends, None) if count < most else None
            if end is None:
                tried.pop()
                if greedy and count >= least:
                    yield place
            elif end > place or count < least:
                if not greedy and count + 1 >= least:
                    yield end
                tried.append((end, self._sequence(tree, 0, end)))

    def _looks(self, argument: Any, at: int) -> bool:
        direction, tree = argument
        start = at if direction > 0 else at - tree.getwidth()[0]
        return start >= 0 and any(True for _ in self._sequence(tree, 0, start))

    def _stands(self, where: Any, at: int) -> bool:
        text, last = self._text, len(self._text)
        many = bool(self._flags & re.MULTILINE)
        if where in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
            return at == 0 or (many and where is codes.AT_BEGINNING and text[at - 1] == "\n")
        if where in (codes.AT_END, codes.AT_END_STRING):
            line = where is codes.AT_END and at < last and text[at] == "\n" and (many or at == last - 1)
            return at == last or line
        sides = [0 <= place < last and _CATEGORIES["WORD"](text[place]) for place in (at - 1, at)]
        return (sides[0] != sides[1]) == (where is codes.AT_BOUNDARY)

    def _takes(self, operation: Any, argument: Any, letter: str) -> bool:
        """True if one letter matches."""
        if operation is codes.ANY:
            return letter != "\n" or bool(self._flags & re.DOTALL)
        if operation is codes.IN:
            items = [item for item in argument if item[0] is not codes.NEGATE]
            return any(self._takes(item[0], item[1], letter) for item in items) == (len(items) == len(argument))
        if operation is codes.CATEGORY:
            word = str(argument).rpartition("_")[2]
            return _CATEGORIES[word](letter) != ("_NOT_" in str(argument))
        letters = {letter, letter.lower(), letter.upper()} if self._flags & re.IGNORECASE else {letter}
        if operation is codes.RANGE:
            return any(argument[0] <= ord(each) <= argument[1] for each in letters if len(each) == 1)
        return (chr(argument) in letters) == (operation is codes.LITERAL)


def _first(ends: Iterator[int]) -> Iterator[int]:
    end = next(ends, None)
    if end is not None:
        yield end
