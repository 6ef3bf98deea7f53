"""Explanations of several lines as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simkit.meta.escaping import html_text, one_line


def html_lines(lines: Iterable[str]) -> str:
    """A headline and its details as a heading and a list.

    Examples
    --------
    >>> html_lines(["yes", "  because"])
    '<p><b>yes</b></p><ul><li>because</li></ul>'
    """
    head, *rest = lines
    return f"<p><b>{html_text(head)}</b></p><ul>{''.join(f'<li>{html_text(line.strip())}</li>' for line in rest)}</ul>"


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
