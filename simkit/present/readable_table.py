"""Tables as people read them, in one way on a terminal, in files and in notebooks.

Cells are not Python: ``yes`` and not ``True``, ``get, list`` and not ``('get', 'list')``, nothing and not ``None``.
Prose stands at the left, numbers at the right, and nothing is cut off. Heads are words, but for notebooks, where code
beside the table names its columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, time
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, Final

from simkit.meta.visible_text import html_text, one_line

WIDEST: Final = 120
"""Letters to which a column is padded: one name of a megabyte shall not make every line that long."""
LONGEST: Final = 10_000
"""Letters of a cell that a page shows."""
FEW: Final = 20
"""Rows of a table in HTML that needs no search."""
MOST: Final = 1_000
"""Rows that a table in HTML keeps for its search beyond those that it shows without a script."""
NO_RULE: Final = "(no rule)"
"""The text for -1, the index of a rule that does not exist or is not needed."""
_RULE_COLUMN: Final = "rule"
_MISSING: Final = ("NoneType", "NAType", "NaTType")
_TABLE: Final = "table.simkit.simkit.simkit"
"""The class is named three times, which outweighs the rules of JupyterLab for tables: it sets texts to the right."""
_STYLE: Final = (
    "<style>table.simkit{border-collapse:collapse}"
    f"{_TABLE} th,{_TABLE} td{{text-align:left;vertical-align:top;padding:.25em .8em;white-space:pre-wrap;"
    "overflow-wrap:break-word;border-bottom:1px solid #8884}"
    f"{_TABLE} td{{max-width:60em}}{_TABLE} td.whole{{white-space:nowrap}}{_TABLE} td.long{{min-width:12em}}"
    f"{_TABLE} td.number,{_TABLE} th.number{{text-align:right}}"
    ".simkit-tools{display:flex;flex-wrap:wrap;gap:.5em;align-items:center;margin:.3em 0}"
    ".simkit-tools :is(input,button){font:inherit;color:inherit;background:transparent;border:1px solid #888;"
    "border-radius:4px;padding:.15em .5em}"
    ".simkit-rows{max-height:32em;overflow:auto;scroll-padding-top:2.5em}"
    f".simkit-rows {_TABLE} th{{position:sticky;top:0;"
    "background:var(--jp-layout-color0,var(--vscode-editor-background,Canvas))}"
    f"{_TABLE} th button{{all:unset;cursor:pointer;font-weight:bold}}"
    f"{_TABLE} th[aria-sort=ascending] button::after{{content:' \\2191'}}"
    f"{_TABLE} th[aria-sort=descending] button::after{{content:' \\2193'}}"
    f":is(.simkit-tools :is(input,button),.simkit-rows,{_TABLE} th button):focus-visible"
    "{outline:2px solid #0072B2;outline-offset:1px}</style>"
)
_SHORT: Final = 20
_WORD: Final = 12
"""Letters of a cell that is not broken: ClusterRole."""
_PROSE: Final = 60
"""Letters from which on a cell has a least width, so that it does not become a column of single words."""
_PIECE: Final = 12
_LONG_WORD: Final = re.compile(r"([^\s-]{28,})")
"""A word that may be broken anywhere, such as a hash; the words of names are shorter: certificatesigningrequests."""
_JOINT: Final = re.compile(r"(?:(?<=[./@=])|(?<=\w{4}:))(?=[^\s./@=:])(?!(?<=\d\.)\d)|(?<=[a-z])(?=[A-Z][a-z])")
_BREAK: Final = "<wbr>"


def is_missing(value: Any) -> bool:
    """True if a cell holds nothing: None, what pandas has for it, or no number."""
    return type(value).__name__ in _MISSING or (isinstance(value, float) and value != value)


def head(name: object) -> str:
    """The head of a column: its name in words.

    Examples
    --------
    >>> head("api_version")
    'api version'
    """
    words = " ".join(map(str, name)) if isinstance(name, tuple) else str(name)
    return words.replace("_", " ")


def cell(value: Any) -> str:
    """A value as people read it: words for yes and no, lists without brackets, nothing for nothing.

    An empty text in a list is shown, since it may be a name: that of the API group of pods and secrets.

    Examples
    --------
    >>> [cell(one) for one in (True, ("get", "list"), ("", "apps"), None, {"team": "red"}, 0.333333, 2.0)]
    ['yes', 'get, list', '"", apps', '', 'team=red', '0.333', '2']
    """
    if is_missing(value):
        return ""
    if type(value).__name__ in ("bool", "bool_"):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:.3g}"
    if isinstance(value, datetime) and value.time() == time.min:
        return f"{value:%Y-%m-%d}"
    if isinstance(value, datetime):
        return str(value).replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return ", ".join(f"{cell(key)}={cell(held)}" for key, held in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(cell(one) or '""' for one in value)
    return ", ".join(sorted(map(cell, value))) if isinstance(value, set | frozenset) else str(value)


def shown_rows(columns: Sequence[object], rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The rows with words for the values of a column that are no numbers to people: -1 in the column ``rule``.

    Examples
    --------
    >>> list(shown_rows(["subject", "rule"], [("user:ann", 0), ("group:system:masters", -1)]))
    [('user:ann', 0), ('group:system:masters', '(no rule)')]
    """
    if _RULE_COLUMN not in columns:
        yield from rows
        return
    place = list(columns).index(_RULE_COLUMN)
    for row in rows:
        if is_number(row[place]) and row[place] < 0:
            yield *row[:place], NO_RULE, *row[place + 1 :]
        else:
            yield row


def is_number(value: Any) -> bool:
    """True if a value is read by its digits, and stands at the right."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def aligned(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of one line a row, for files and pipes."""
    lines = [list(heads), *([one_line(cell(value)) for value in row] for row in rows)]
    return "".join(f"{line.rstrip()}\n" for line in padded(lines, "", "  ", ""))


def padded(lines: Sequence[Sequence[str]], first: str, between: str, last: str) -> Iterator[str]:
    """The lines with their columns below each other. What is wider than ``WIDEST`` makes its own line alone longer."""
    widths = [max((wide for text in texts if (wide := text_width(text)) <= WIDEST), default=0) for texts in zip(*lines)]
    for texts in lines:
        cells = (text + " " * (width - text_width(text)) for text, width in zip(texts, widths))
        yield f"{first}{between.join(cells)}{last}"


def text_width(text: str) -> int:
    """The places that a text takes: letters of East Asia take two, marks above other letters none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def html_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    told: str = "",
    shown: int | None = None,
    total: int | None = None,
) -> str:
    """A table in HTML, with its own style.

    Parameters
    ----------
    told
        A line below it, such as how many rows are not shown.
    shown
        The rows that are shown where no script runs; the others are in the page for the search. None: all.
    total
        The number of rows that there are, for a table that can be searched, sorted and copied if it has more than
        ``FEW`` rows. None: without a script, as for a file.
    """
    cells = ["".join(map(html_cell, row)) for row in rows]
    seen = len(cells) if shown is None else shown
    body = "\n".join(f"<tr{' hidden' * (place >= seen)}>{row}</tr>" for place, row in enumerate(cells))
    top = "".join(f"<th>{html_text(name)}</th>" for name in heads)
    kind = ' class="simkit-unseen"' if len(cells) > seen else ""
    below = f"\n<p{kind}>{html_text(told)}</p>" if told else ""
    partial = f"the first {len(cells):,} of {total:,} rows" if total and total > len(cells) else ""
    long = total is not None and len(cells) > FEW
    searched = f' data-rows="{partial or f"{len(cells):,} rows"}"' if long else ""
    script = f"<script>{{{_table_tools()}}}</script>\n" if long else ""
    return (
        f'{_STYLE}<table class="simkit"{searched}>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>\n'
        f"</table>{below}\n{script}"
    )


def html_page(title: str, body: str) -> str:
    """A page of its own, on light or dark paper as its reader wants; what is wider than a screen is moved by itself."""
    return (
        '<!DOCTYPE html>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
        f"<title>{html_text(title)}</title>\n"
        "<style>:root{color-scheme:light dark}body{font:14px sans-serif}</style>\n"
        f'<div style="overflow-x:auto" tabindex="0">\n{body}</div>\n'
    )


@cache
def _table_tools() -> str:
    """The script that gives long tables of a page search, sort and copy."""
    return (files("simkit.present") / "table_tools.js").read_text(encoding="utf-8")


def cut_short(text: str, longest: int = LONGEST) -> str:
    """The text, or where no page could hold it, both ends with the number of letters that are left out."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} … ({len(text) - longest:,} letters) … {text[-half:]}"


def html_cell(value: Any) -> str:
    """A cell in HTML. Of a text that no page could hold both ends are shown, and how much is left out.

    Examples
    --------
    >>> html_cell("a<b"), html_cell(3), html_cell("2026-11-26")
    ('<td>a&lt;b</td>', '<td class="number">3</td>', '<td class="whole">2026-11-26</td>')
    """
    text = cut_short(cell(value))
    if is_number(value):
        return f'<td class="number">{html_text(text)}</td>'
    if len(text) <= _SHORT and text[:1].isdecimal():
        return f'<td class="whole">{html_text(text)}</td>'
    kind = ' class="long"' if len(text) > _PROSE else ""
    return f"<td{kind}>{breakable(text)}</td>"


def breakable(text: str) -> str:
    """The text in HTML, with the places where a narrow page may break its words: behind signs, and between words.

    Examples
    --------
    >>> breakable("batch/v1"), breakable("autoscaling/v2"), breakable("ClusterRoleBinding")
    ('batch/v1', 'autoscaling/<wbr>v2', 'Cluster<wbr>Role<wbr>Binding')
    >>> breakable("two of 0123456789abcdef0123456789abcdef at 1.25 replicas")
    'two of 0123456789ab<wbr>cdef01234567<wbr>89abcdef at 1.25 replicas'
    """
    if len(text) <= _WORD:
        return html_text(text)
    return _BREAK.join("".join(_pieces(word)) for word in _JOINT.split(text))


def _pieces(text: str) -> Iterator[str]:
    """A text in HTML, with its long words in pieces."""
    for number, part in enumerate(_LONG_WORD.split(text)):
        step = _PIECE if number % 2 else len(part)
        yield _BREAK.join(html_text(part[start : start + step]) for start in range(0, len(part), max(step, 1)))


def shown_of(rows: Sequence[Any] | Iterable[Any], total: int, limit: int | None) -> tuple[list[Any], str]:
    """The first rows up to a limit, and a sentence about those that are left out, empty where none is."""
    if limit is None or total <= limit:
        return list(rows), ""
    first = [row for row, _ in zip(chain(rows), range(limit))]
    return first, f"{total:,} rows; these are the first {limit:,}"
