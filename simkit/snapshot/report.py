"""The problems of reading objects, for people to act on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Weight = Literal["lost", "changed", "note"]
"""``lost``: something could not be read; ``changed``: read otherwise than it stands there; ``note``: worth knowing."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: its place, what is wrong, and what to try.

    Examples
    --------
    >>> print(Problem("roles.yaml", 12, "a Role has no name", "give it metadata.name"))
    roles.yaml:12: a Role has no name; give it metadata.name
    """

    file: str
    line: int | None
    """Counted from 1; None where there are no lines (decoded values, compact JSON)."""
    what: str
    hint: str = ""
    weight: Weight = "lost"

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.what}{f'; {self.hint}' if self.hint else ''}"


LONGEST: Final = 500
"""Letters of what is told of one problem."""


class Report:
    """Collects problems while a load is going on."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def add(self, file: str, line: int | None, what: str, hint: str = "", *, weight: Weight = "lost") -> None:
        """Note one problem. What is quoted from the source is cut where it is very long."""
        told = what if len(what) <= LONGEST else f"{what[:LONGEST]}... ({len(what):,} letters)"
        self._problems.append(Problem(file, line, told, hint, weight))

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._problems)

    def __len__(self) -> int:
        return len(self._problems)
