"""Capitals and small letters in what GNU sed puts in the place of a match.

References
----------
GNU sed 4.9, The "s" Command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

CASES: Final = re.compile(r"(?<!\\)\\([ULulE])")


def in_cases(parts: Sequence[str], letters: Sequence[str]) -> str:
    """Parts of a text, each but the first behind a letter: all in capitals (``U``) or small (``L``), or the first one.

    Examples
    --------
    >>> in_cases(["", "foo", "bar"], ["u", "U"])
    'FooBAR'
    """
    made, kept, once = [parts[0]], "E", ""
    for letter, part in zip(letters, parts[1:], strict=True):
        kept, once = (letter, once) if letter in "ULE" else (kept, letter)
        text = part.upper() if kept == "U" else part.lower() if kept == "L" else part
        if once and text:
            text, once = (text[0].upper() if once == "u" else text[0].lower()) + text[1:], ""
        made.append(text)
    return "".join(made)
