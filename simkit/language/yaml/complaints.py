"""Complaints of the reader of YAML: apart from it, since who handles them may never read a document."""

from __future__ import annotations

from typing import Final, NamedTuple

_IN_WORDS: Final = (
    ("',' or ']'", "a list in [ ] is not closed; expected , or ]"),
    ("',' or '}'", "a mapping in { } is not closed; expected , or }"),
    ("node content", "a value is missing, or a list in [ ] or a mapping in { } is not closed"),
    ("tab character", "a tab where YAML needs spaces"),
    ("mapping values are not allowed", "a second colon in one value, or wrong indentation; put the value in quotes"),
    ("expected key", "wrong indentation; expected a key in line with those above"),
    ("expected <block end>", "wrong indentation; expected a key or - in line with those above"),
    ("'-' indicator", "wrong indentation; expected - in line with the entries above"),
    ("expected ':'", "a key without a colon"),
    ("unexpected end of stream", "a quotation mark is not closed"),
    ("cannot start any token", "a value begins with a character that means something else; put it in quotes"),
)
"""Parts of what libyaml and PyYAML say, in words for people."""


def in_words(problem: str) -> str:
    """What is wrong with a text and what was expected, as far as a message of a parser tells it.

    Examples
    --------
    >>> in_words("did not find expected '-' indicator")
    'wrong indentation; expected - in line with the entries above'
    """
    return next((words for part, words in _IN_WORDS if part in problem), problem)


class BrokenText(ValueError):
    """Invalid text: ``line`` counts from 1, ``told`` is kube-apiserver's message."""

    def __init__(self, line: int, what: str, told: str = "") -> None:
        super().__init__(f"line {line}: {what}")
        self.line, self.what, self.told = line, what, told or f"line {line}: {what}"


class Repeat(NamedTuple):
    """A duplicate key of a mapping, and the line of its second place."""

    line: int
    key: str
