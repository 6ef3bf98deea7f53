"""Arrays of bash: texts by number, or by any text.

References
----------
Bash Reference Manual 5.2, 6.7 Arrays.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

_PLAIN: Final = re.compile(r"[\w%+,./:=@-]+", re.ASCII)
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f]")
_NAMED: Final = {
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
    "\x1b": "\\E",
}
PER_ENTRY: Final = 64
"""Letters for which a variable counts besides its name and its value."""


class Array:
    """Texts by number in order, with gaps; or by text, in the order in which they came.

    Examples
    --------
    >>> array = Array()
    >>> array.put(5, "b"), array.put(1, "a"), array.texts(), array.keys()
    (None, None, ['a', 'b'], ['1', '5'])
    >>> array.place(-1)
    5
    """

    __slots__ = ("_entries", "_order", "by_text", "held")

    def __init__(self, *, by_text: bool = False) -> None:
        self.by_text = by_text
        self._entries: dict[int | str, str] = {}
        self._order: list[int] = []
        """The numbers, in order."""
        self.held = 0
        """About the letters that it holds."""

    def __len__(self) -> int:
        return len(self._entries)

    def copy(self) -> Array:
        """An independent copy."""
        made = Array(by_text=self.by_text)
        made._entries, made._order = dict(self._entries), list(self._order)
        made.held = self.held
        return made

    @property
    def first(self) -> int | str:
        """The key of the element that the name of the array alone means."""
        return "0" if self.by_text else 0

    @property
    def following(self) -> int:
        """The number behind the last element."""
        return self._order[-1] + 1 if self._order else 0

    def place(self, number: int) -> int | None:
        """The number of an element, which counts from the end if it is negative; None for one before the first."""
        found = number + self.following if number < 0 else number
        return found if found >= 0 else None

    def get(self, key: int | str) -> str | None:
        """An element; None where there is none."""
        return self._entries.get(key)

    def put(self, key: int | str, text: str) -> None:
        """Set an element."""
        before = self._entries.get(key)
        self.held += len(text) - len(before) if before is not None else len(text) + len(str(key)) + PER_ENTRY
        if before is None and isinstance(key, int):
            if key >= self.following:
                self._order.append(key)
            else:
                insort(self._order, key)
        self._entries[key] = text

    def remove(self, key: int | str) -> None:
        """Remove an element, if it is there."""
        before = self._entries.pop(key, None)
        if before is None:
            return
        self.held -= len(before) + len(str(key)) + PER_ENTRY
        if isinstance(key, int):
            del self._order[bisect_left(self._order, key)]

    def items(self) -> Iterator[tuple[int | str, str]]:
        """The elements with their keys, in order."""
        if self.by_text:
            yield from self._entries.items()
        else:
            yield from ((number, self._entries[number]) for number in self._order)

    def texts(self) -> list[str]:
        """The elements, in order."""
        return [text for _, text in self.items()]

    def keys(self) -> list[str]:
        """The keys, in order."""
        return [str(key) for key, _ in self.items()]

    def shown(self) -> str:
        """The elements as ``declare -p`` prints them."""
        parts = [f"[{_as_key(str(key))}]={double_quoted(text)}" for key, text in self.items()]
        return f"({' '.join(parts)}{' ' if self.by_text and parts else ''})"


def _as_key(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else double_quoted(text)


def double_quoted(text: str) -> str:
    """A text between double quotes, or with escapes between ``$'`` and ``'`` if it holds letters that nobody sees.

    Examples
    --------
    >>> double_quoted('a"b'), double_quoted("a" + chr(10))
    ('"a\\\\"b"', "$'a\\\\n'")
    """
    if _UNSEEN.search(text):
        return escaped_text(text)
    return '"' + re.sub(r'[\\"$`]', r"\\\g<0>", text) + '"'


def escaped_text(text: str) -> str:
    """A text between ``$'`` and ``'``, in which letters that nobody sees are escapes."""

    def spelled(found: re.Match[str]) -> str:
        letter = found[0]
        return _NAMED.get(letter, f"\\{letter}" if letter in "\\'" else f"\\{ord(letter):03o}")

    return "$'" + re.sub(r"[\x00-\x1f\x7f\\']", spelled, text) + "'"


def single_quoted(text: str) -> str:
    """A text as ``${NAME@Q}`` spells it.

    Examples
    --------
    >>> single_quoted("it's"), single_quoted("")
    ("'it'\\\\''s'", "''")
    """
    return escaped_text(text) if _UNSEEN.search(text) else "'" + text.replace("'", "'\\''") + "'"


def backslashed(text: str) -> str:
    """A text as ``printf %q`` spells it."""
    if not text:
        return "''"
    if _UNSEEN.search(text):
        return escaped_text(text)
    spelled = re.sub(r"[^\w%+./:=@~#\u0080-\U0010ffff-]", r"\\\g<0>", text)
    return f"\\{spelled}" if text[0] in "~#" else spelled
