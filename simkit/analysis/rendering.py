"""Explanations of several lines as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from simkit.meta.escaping import one_line


def html_lines(lines: Iterable[str]) -> str:
    """A headline and its details as a heading and a list.

    Examples
    --------
    >>> html_lines(["yes", "  because"])
    '<p><b>yes</b></p><ul><li>because</li></ul>'
    """
    head, *rest = lines
    return f"<p><b>{escape(head)}</b></p><ul>{''.join(f'<li>{escape(line.strip())}</li>' for line in rest)}</ul>"


def text_lines(lines: Iterable[str]) -> str:
    r"""A headline and its details as text; line breaks in names are escaped.

    Examples
    --------
    >>> text_lines(["no", "  ann\n  and yes"])
    'no\n  ann\\n  and yes'
    """
    return "\n".join(map(one_line, lines))


def counted(count: int, word: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "hop"), counted(2, "hop")
    ('1 hop', '2 hops')
    """
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
