"""Sets of completion indexes as text, such as ``1,3-5``.

pkg/controller/job/indexed_job_utils.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable


def parse(text: str) -> set[int]:
    """The indexes that a text names.

    Examples
    --------
    >>> sorted(parse("1,3-5"))
    [1, 3, 4, 5]
    """
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if first.isdigit():
            found.update(range(int(first), int(last if last.isdigit() else first) + 1))
    return found


def write(indexes: Iterable[int]) -> str:
    """The shortest text for some indexes: two in a row are listed, three or more are a range.

    Examples
    --------
    >>> write([5, 1, 3, 4, 8, 9])
    '1,3-5,8,9'
    """
    parts: list[tuple[int, int]] = []
    for index in sorted(set(indexes)):
        if parts and index == parts[-1][1] + 1:
            parts[-1] = (parts[-1][0], index)
        else:
            parts.append((index, index))
    shown = [str(a) if a == b else f"{a},{b}" if b == a + 1 else f"{a}-{b}" for a, b in parts]
    return ",".join(shown)
