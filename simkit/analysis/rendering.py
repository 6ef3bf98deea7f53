"""Explanations of several lines as HTML, for notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from simkit.meta.visible_text import html_text, one_line

_NUMBER: Final = re.compile(r"\d+\. ")

THEME: Final = "pictures have it from a block: with simkit.analysis.plots.theme('dark'): ...plot()"
"""The answer to those who look for the colours of a picture among its arguments."""
PICTURE_FILE: Final = "write .plot().figure.savefig('x.png')"
"""The answer to those who look for the file of a picture among its arguments."""


def html_lines(lines: Iterable[str]) -> str:
    """A headline and its details as a heading and a list. Lines that are indented further belong to the line above.

    Examples
    --------
    >>> html_lines(["yes", "  because"])
    '<p><b>yes</b></p><ul><li>because</li></ul>'
    >>> print(html_lines(["a path", "1. reads", "     by a role"]).partition("<ul ")[2])
    style='list-style:none;padding-left:1em'><li>1. reads<div style='padding-left:2em'>by a role</div></li></ul>
    """
    head, *rest = lines
    least = min((_indent(line) for line in rest), default=0)
    items: list[str] = []
    for line in rest:
        text = html_text(line.strip())
        if items and _indent(line) > least:
            items[-1] += f"<div style='padding-left:2em'>{text}</div>"
        else:
            items.append(text)
    numbered = bool(items) and all(_NUMBER.match(item) for item in items)
    style = " style='list-style:none;padding-left:1em'" if numbered else ""
    return f"<p><b>{html_text(head)}</b></p><ul{style}>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def text_lines(lines: Iterable[str]) -> str:
    r"""A headline and its details as text; line breaks in names are escaped.

    Examples
    --------
    >>> text_lines(["no", "  ann\n  and yes"])
    'no\n  ann\\n  and yes'
    """
    return "\n".join(map(one_line, lines))


def first_of(texts: Sequence[str], most: int) -> str:
    """Texts as part of a sentence; of many, the first few and a number.

    Examples
    --------
    >>> first_of(["a", "b", "c", "d", "e", "f"], 2)
    'a, b and 4 more'
    """
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def counted(count: int, word: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "hop"), counted(2, "hop")
    ('1 hop', '2 hops')
    """
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
