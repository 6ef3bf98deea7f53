"""Comments of lines that a rewritten text has no more, kept above the lines that took their place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode

_COMMENT: Final = re.compile(r"(?:^|\s)(#(?:\s.*|))$")


def with_comments(old: str, new: str) -> str:
    """The new text with the comments that only the old one has; itself where they cannot be placed.

    Examples
    --------
    >>> print(with_comments("a:\\n  b: 1  # ours\\n", "a:\\n  c: {d: 1}\\n"), end="")
    a:
      # ours
      c: {d: 1}
    """
    lost = Counter(_comments(old.split("\n"))) - Counter(_comments(new.split("\n")))
    if not lost:
        return new
    before, after = old.split("\n"), new.split("\n")
    made: list[str] = []
    for _, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        kept = after[first:last]
        for comment in _comments(before[start:end]):
            if lost[comment]:
                lost[comment] -= 1
                made.append(f"{_indentation(kept or after[first : first + 1])}{comment}")
        made += kept
    text = "\n".join(made)
    return text if _says_the_same(text, new) else new


def _comments(lines: list[str]) -> Iterator[str]:
    for line in lines:
        match = _COMMENT.search(line)
        if match is not None and all(line[: match.start(1)].count(quote) % 2 == 0 for quote in "\"'"):
            yield match[1].rstrip()


def _indentation(lines: list[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def _says_the_same(text: str, other: str) -> bool:
    try:
        return bool(decode(text) == decode(other))
    except BrokenText:
        return False
