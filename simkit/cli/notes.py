"""Notes of a command on standard error, so that its answer can be piped."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Final

from simkit.cli import terminal

if TYPE_CHECKING:
    from simkit.snapshot.report import Problem

_ALIKE: Final = 3
"""The problems of one kind that are told: in one file, and different in numbers or names alone."""
_VARIES: Final = re.compile(r"[0-9]+|^\S+ \S+(?= is there twice)")
"""What differs between alike problems: numbers, and the names of objects in several dumps that are read as one."""
_MOST: Final = 100
"""The kinds of problems that are told."""


def note(text: str) -> None:
    """Write a note, unless ``--quiet`` was given."""
    if not terminal.settings.quiet:
        complain(text)


def note_skipped(count: int, noun: str = "") -> None:
    """Write how many unmodified default roles and bindings, or rows that they grant, an answer leaves out."""
    if count:
        from simkit.analysis.rbac.default_objects import skipped_line

        note(f"{skipped_line(count, noun)} --include-defaults lists them.")


def complain(text: str) -> None:
    """Write an error about the input."""
    print(f"simkit: {text}", file=sys.stderr)


def complain_of(problems: Iterable[Problem]) -> None:
    """Write the problems of reading: the first that are alike, and the first of all; the others are counted."""
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        kind = _VARIES.sub("0", problem.what)
        groups.setdefault((problem.file, kind, problem.hint), []).append(problem)
    for alike in islice(groups.values(), _MOST):
        for problem in alike[:_ALIKE]:
            complain(str(problem))
        if len(alike) > _ALIKE:
            complain(f"{alike[0].file}: {len(alike) - _ALIKE:,} more like this")
    if len(groups) > _MOST:
        untold = sum(len(alike) for alike in islice(groups.values(), _MOST, None))
        complain(f"{untold:,} more problems; in Python, simkit.load(...).dump.problems has all of them")
