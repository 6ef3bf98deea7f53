"""The options among the words of a command: letters, long names, values, and what they are repeated with.

References
----------
POSIX.1-2017, Utility Conventions, 12.2; getopt_long(3) of the GNU C library, which takes options behind operands too.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

_LETTER_OF_NUMBER: Final = "n"


class UnknownOption(Exception):
    """A long option that a command does not have; the message is that of the command."""


@dataclass(frozen=True, slots=True)
class Given:
    """The options of a command by letter, each with its values in order, and the other words."""

    values: Mapping[str, Sequence[str]]
    rest: list[str] = field(default_factory=list)

    def __contains__(self, letter: str) -> bool:
        return letter in self.values

    def any(self, letters: str) -> bool:
        """True if one of some letters is given."""
        return any(letter in self.values for letter in letters)

    def last(self, letter: str, usual: str = "") -> str:
        """The last value of an option, or the usual one where it is not given."""
        return self.values[letter][-1] if letter in self.values else usual

    def all(self, letter: str) -> Sequence[str]:
        """All values of an option."""
        return self.values.get(letter, ())


@dataclass(frozen=True, slots=True)
class Syntax:
    """The options that a command has.

    Attributes
    ----------
    valued
        The letters of options that take a value.
    attached
        The letters of options whose value stands in the same word, if there is one.
    names
        The letters that long options mean; those of one sign are ignored with their values.
    numbers
        True if ``-5`` means ``-n 5``.
    """

    valued: str = ""
    attached: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    numbers: bool = False

    def read(self, words: Sequence[str]) -> Given:
        """The options in the words behind a command. Raises UnknownOption.

        Examples
        --------
        >>> syntax = Syntax(valued="ke", names={"reverse": "r", "key": "k"})
        >>> given = syntax.read(["-nk2", "file", "--reverse", "--key=3"])
        >>> given.values, given.rest
        ({'n': [''], 'k': ['2', '3'], 'r': ['']}, ['file'])
        """
        found: dict[str, list[str]] = {}
        rest: list[str] = []
        left = deque(words)
        while left:
            word = left.popleft()
            if word == "--":
                return Given(found, [*rest, *left])
            if word.startswith("--"):
                self._read_long(word[2:], left, found)
            elif self.numbers and re.fullmatch(r"-\d+", word):
                found.setdefault(_LETTER_OF_NUMBER, []).append(word[1:])
            elif word.startswith("-") and word != "-":
                self._read_letters(word, left, found)
            else:
                rest.append(word)
        return Given(found, rest)

    def _read_long(self, word: str, left: deque[str], found: dict[str, list[str]]) -> None:
        name, equals, value = word.partition("=")
        chosen = [each for each in self.names if each == name] or [each for each in self.names if each.startswith(name)]
        if len({self.names[each] for each in chosen}) != 1:
            raise UnknownOption(f"unrecognized option '--{name}'")
        letter = self.names[chosen[0]]
        if letter in self.valued and not equals:
            value = left.popleft() if left else ""
        found.setdefault(letter, []).append(value)

    def _read_letters(self, word: str, left: deque[str], found: dict[str, list[str]]) -> None:
        for place, letter in enumerate(word[1:], 2):
            if letter in self.attached:
                found.setdefault(letter, []).append(word[place:])
                return
            if letter in self.valued:
                found.setdefault(letter, []).append(word[place:] or (left.popleft() if left else ""))
                return
            found.setdefault(letter, []).append("")
