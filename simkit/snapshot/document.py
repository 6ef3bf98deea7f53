"""A decoded value on its way from a text to objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

Advance = Callable[[int], None]
"""A callback that is told how many more characters have been read."""

REPAIR: Final = "it was left out; repair the file or write it again"
REPEATED: Final = "the last one counts"
CUT: Final = "the file is not whole; write it again, or what came after is missing"
_KIND: Final = re.compile(r"""(?:^|[{,])[\s\-]*["']?kind["']?\s*:\s*["']?([A-Za-z0-9]+)""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """One decoded value, with its first line, and the lines of its items if they are known.

    ``whole`` is False for a list that breaks off: the objects after the break are not known.
    """

    value: Any
    line: int | None
    item_lines: Sequence[int] = ()
    whole: bool = True


def named(text: str) -> str:
    """The kind of a broken text, such as ``a Role``; values may be secret and stay out of messages."""
    match = _KIND.search(text)
    return f"a {match.group(1)}" if match else "a document"
