"""Semantic versions of components: the strict form, in its order.

Follows ``github.com/blang/semver/v4``, which ``pkg/apis/coordination/validation/validation.go`` reads versions with.
"""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"(0|[1-9][0-9]*)"
_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_LARGEST: Final = 2**64 - 1
_DIGITS: Final = len(str(_LARGEST))

Precedence = tuple[tuple[int, ...], tuple[tuple[int, int, str], ...]]
"""The order of versions: numbers, then the parts of a pre-release; a version without one comes after all of these."""
_NO_PRERELEASE: Final = ((2, 0, ""),)


def precedence(text: str) -> Precedence | None:
    """The precedence of a version; None if the text is no semantic version.

    Examples
    --------
    >>> precedence("1.2.3-alpha.1") < precedence("1.2.3-alpha.beta") < precedence("1.2.3")
    True
    >>> precedence("1.2"), precedence("v1.2.3"), precedence("1.2.3-01")
    (None, None, None)
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    parts = found[4].split(".") if found[4] else []
    if any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in parts):
        return None
    numbers = [*found.groups()[:3], *filter(str.isdigit, parts)]
    if any(len(number) > _DIGITS or int(number) > _LARGEST for number in numbers):
        return None
    named = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)
    return tuple(int(number) for number in found.groups()[:3]), named or _NO_PRERELEASE
