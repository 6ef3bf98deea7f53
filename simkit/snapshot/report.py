"""The problems of reading objects, with suggestions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from simkit.meta.visible_text import one_line

HOW_TO_DUMP: Final = "`simkit dump` prints how to dump objects"
"""The suggestion for a dump that holds something else."""
_HOW_TO_WRITE: Final = "an object has apiVersion, kind and metadata"
"""The suggestion for manifests, which people write."""
Weight = Literal["lost", "changed", "note"]
"""``lost``: something could not be read; ``changed``: it was read differently than written; ``note``: worth knowing."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: its position, its cause, and a suggestion.

    Examples
    --------
    >>> print(Problem("roles.yaml", 12, "a Role has no name", "give it metadata.name"))
    roles.yaml:12: a Role has no name; give it metadata.name
    """

    file: str
    line: int | None
    """The line, from 1; None if there are no lines (decoded values, compact JSON)."""
    what: str
    hint: str = ""
    weight: Weight = "lost"

    def __str__(self) -> str:
        file = one_line(self.file)
        where = file if self.line is None else f"{file}:{self.line}"
        return f"{where}: {self.what}{f'; {self.hint}' if self.hint else ''}"

    def as_refusal(self) -> str:
        """The text for readers that refuse all, and leave nothing out."""
        hint = self.hint.removeprefix("it was left out").removeprefix("; ").removeprefix(", as ")
        hint = _HOW_TO_WRITE if hint == HOW_TO_DUMP else hint
        return str(replace(self, hint=hint))


PLACED: Final = "it was put into "
"""How the hint begins about an object that got the namespace of those that name none."""
LONGEST: Final = 500
"""The most letters of a problem's text."""


class Report:
    """Collects problems during a load."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def add(self, file: str, line: int | None, what: str, hint: str = "", *, weight: Weight = "lost") -> None:
        """Add a problem. Long quotations from the source are shortened."""
        told = what if len(what) <= LONGEST else f"{what[:LONGEST]}... ({len(what):,} letters)"
        self._problems.append(Problem(file, line, told, hint, weight))

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._problems)

    def __len__(self) -> int:
        return len(self._problems)
