"""Names that fields of panels suggest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simkit.meta.visible_text import is_visible

OFFERED: Final = 200
"""The most names that a field suggests; any other can be typed."""
_LONGEST: Final = 256


def suggestions(names: Iterable[str], most: int = OFFERED) -> tuple[str, ...]:
    r"""The first names that can be seen as they are, each once.

    A field takes a suggestion as it stands, so that names with invisible letters, or such as begin like an option, are
    left out, as shells leave them out. They can be typed.

    Examples
    --------
    >>> suggestions(["shop", "ad\u200bmin", "shop", "--all", "a" * 1000, "prod"])
    ('shop', 'prod')
    """
    found: dict[str, None] = {}
    for name in filter(may_be_suggested, names):
        if len(found) == most:
            break
        found[name] = None
    return tuple(found)


def may_be_suggested(name: str) -> bool:
    """True for a name that can be seen as it is, and is no option."""
    return 0 < len(name) <= _LONGEST and name == name.strip() and name[0] != "-" and is_visible(name)
