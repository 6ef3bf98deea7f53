"""The fields that a word becomes where separators split it.

References
----------
POSIX.1-2017, Shell Command Language, 2.6.5 Field Splitting.
"""

from __future__ import annotations

from typing import Final

from simkit.simulation.shell.patterns import LONGEST_WORD, TooLong

BLANKS: Final = " \t\n"
"""The separators where ``IFS`` is not set."""


class Fields:
    """The fields that a word becomes, each of parts that are quoted or not."""

    def __init__(self, separators: str) -> None:
        self.done: list[list[tuple[str, bool]]] = []
        self._current: list[tuple[str, bool]] | None = None
        self._separators = separators
        self._pending = False
        """True if blanks have ended a field, so that what follows begins another."""
        self._size = 0

    def add(self, text: str, *, quoted: bool) -> None:
        """Add text as it is."""
        self._size += len(text)
        if self._size > LONGEST_WORD:
            raise TooLong
        if not text and not quoted:
            return
        self._begin().append((text, quoted))

    def _begin(self) -> list[tuple[str, bool]]:
        if self._pending:
            self.end()
        if self._current is None:
            self._current = []
        return self._current

    def end(self) -> None:
        """End the present field, if there is one."""
        self._pending = False
        if self._current is not None:
            self.done.append(self._current)
            self._current = None

    def add_split(self, text: str) -> None:
        """Add the value of something without quotes, which separators split."""
        self._size += len(text)
        if self._size > LONGEST_WORD:
            raise TooLong
        start = 0
        for place, letter in enumerate(text):
            if letter not in self._separators:
                continue
            if place > start:
                self._begin().append((text[start:place], False))
            start = place + 1
            if letter in BLANKS:
                self._pending = self._pending or self._current is not None
            else:
                self._begin_empty()
        if start < len(text):
            self._begin().append((text[start:], False))

    def _begin_empty(self) -> None:
        """End a field at a separator that is no blank; without one before it the field is empty."""
        self._pending = False
        if self._current is None:
            self._current = []
        self.end()
