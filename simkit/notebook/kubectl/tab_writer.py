"""Text with tabs as columns, like Go's text/tabwriter with two blanks between columns."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import Final

_PADDING: Final = 2


def tabbed(text: str) -> str:
    """Lines whose cells end with a tab, with these cells below each other.

    A column is a run of lines that all have it; the last cell of a line belongs to no column. A form feed ends all
    columns.

    Examples
    --------
    >>> print(tabbed("Name:\\tweb\\nLabels:\\tapp=web\\n\\ttier=front\\nEvents:\\n"), end="")
    Name:    web
    Labels:  app=web
             tier=front
    Events:
    """
    return "".join(_block(part) for part in text.split("\f"))


def _block(text: str) -> str:
    lines = [line.split("\t") for line in text.split("\n")]
    for column in range(max(map(len, lines)) - 1):
        for has_column, run in groupby(lines, partial(_has, column)):
            listed = list(run)
            if has_column:
                width = max(len(line[column]) for line in listed) + _PADDING
                for line in listed:
                    line[column] = line[column].ljust(width)
    return "\n".join("".join(line) for line in lines)


def _has(column: int, line: list[str]) -> bool:
    return len(line) > column + 1
