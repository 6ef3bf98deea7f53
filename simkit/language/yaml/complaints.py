"""Complaints of the reader of YAML: apart from it, since who handles them may never read a document."""

from __future__ import annotations

from typing import NamedTuple


class BrokenText(ValueError):
    """Invalid text: ``line`` counts from 1, ``told`` is kube-apiserver's message."""

    def __init__(self, line: int, what: str, told: str = "") -> None:
        super().__init__(f"line {line}: {what}")
        self.line, self.what, self.told = line, what, told or f"line {line}: {what}"


class Repeat(NamedTuple):
    """A duplicate key of a mapping, and the line of its second place."""

    line: int
    key: str
