"""Texts in which every letter is seen, on a line, in lines and in HTML: the form in which values show themselves.

Letters that show nothing are those of the Unicode property Default_Ignorable_Code_Point, and three that are drawn as a
blank. What else escapes, for a terminal, a shell or a file, is in ``simkit.present.escaping``.
"""

from __future__ import annotations

import re
from typing import Final

_SHOWS_NOTHING: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Letters and marks that are nothing or a blank on a screen, though ``str.isprintable`` is true of them."""


def is_visible(text: str) -> bool:
    r"""True if each letter of a text takes its place on one line, and is seen.

    Examples
    --------
    >>> is_visible("Jürgen 2"), is_visible("ad\u200bmin"), is_visible("\N{HANGUL FILLER}")
    (True, False, False)
    """
    return text.isprintable() and (text.isascii() or not _SHOWS_NOTHING.search(text))


def one_line(text: str) -> str:
    r"""The text with line breaks and all other invisible characters (control, direction, blank letters) escaped.

    Examples
    --------
    >>> one_line("ann\x1b[2J\nbob")
    'ann\\x1b[2J\\nbob'
    """
    return text if is_visible(text) else "".join(map(written_out, text))


def visible_lines(text: str) -> str:
    r"""The text with its line breaks (``\n``, ``\r\n``) and tabs, and all else that cannot be seen written out.

    Examples
    --------
    >>> visible_lines("three\nlines\r\nof\rtext")
    'three\nlines\r\nof\\rtext'
    """
    if is_visible(text):
        return text
    return "\n".join(map(_visible_line, text.split("\n")))


def _visible_line(line: str) -> str:
    end = "\r" if line.endswith("\r") else ""
    return "\t".join(map(one_line, line.removesuffix(end).split("\t"))) + end


def html_text(text: str) -> str:
    r"""The text as HTML shows it, in elements and in attributes; invisible characters are written out.

    Line breaks and tabs stay. Letters that turn the direction of a text would turn what stands beside it too.

    Examples
    --------
    >>> html_text('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    >>> print(html_text("ad\u202emin"))
    ad\u202emin
    """
    from html import escape  # whose module has a large table, which servers need not read

    return escape(visible_lines(text))


def written_out(letter: str) -> str:
    return letter if is_visible(letter) else letter.encode("unicode_escape").decode()
