"""A table of any length for notebooks; the browser gets one page at a time."""

from __future__ import annotations

from html import escape
from typing import Final

import ipywidgets as widgets
import pandas as pd

from simkit.meta.readable_table import head, html_cell

PAGE: Final = 50
"""Rows per page; the browser gets no more at a time."""
_MARKS: Final = {"new": "sk-more", "gained": "sk-more", "gone": "sk-less", "lost": "sk-less"}
"""Values of the column ``change`` that colour a row."""
_STYLE: Final = """<style>
.sk-rows table { border-collapse: collapse; font-size: 12px; line-height: 1.4; }
.sk-rows th { text-align: left; padding: 4px 10px; border-bottom: 2px solid currentColor; white-space: nowrap; }
.sk-rows td { text-align: left; padding: 3px 10px; border-bottom: 1px solid #8884; vertical-align: top;
  max-width: 60em; overflow-wrap: anywhere; }
.sk-rows td.number { text-align: right; }
.sk-rows tr.sk-more td { background: #009e7326; }
.sk-rows tr.sk-less td { background: #d55e0026; text-decoration: line-through; }
.sk-rows tr.sk-less td:first-child { text-decoration: none; }
</style>"""


class Pages(widgets.VBox):  # type: ignore[misc]
    """A table of which one page is shown, filtered by words that its rows must contain.

    Rows whose column ``change`` says gained, lost, new or gone are coloured.

    Notes
    -----
    Turning a page renders that page alone; narrowing is O(cells).
    """

    def __init__(self, rows: pd.DataFrame | None = None, *, page: int = PAGE, empty: str = "Nothing.") -> None:
        self._size, self._empty = page, empty
        self.filter = widgets.Text(
            placeholder="words that rows must hold", description="Filter", continuous_update=False
        )
        self.page = widgets.BoundedIntText(
            value=1, min=1, max=1, description="Page", layout=widgets.Layout(width="11em")
        )
        self.back = widgets.Button(description="Back", layout=widgets.Layout(width="5em"))
        self.next = widgets.Button(description="Next", layout=widgets.Layout(width="5em"))
        self.count, self.shown = widgets.Label(), widgets.HTML()
        bar = widgets.HBox([self.filter, self.page, self.count, self.back, self.next])
        super().__init__([bar, self.shown])
        self.filter.observe(self._narrow, "value")
        self.page.observe(self._render, "value")
        self.back.on_click(lambda _: self._turn(-1))
        self.next.on_click(lambda _: self._turn(+1))
        self.show(pd.DataFrame() if rows is None else rows)

    def show(self, rows: pd.DataFrame) -> None:
        """Replace the rows of the table, and show the first page."""
        self._all = rows
        self._texts: pd.Series[str] | None = None
        self._narrow()

    @property
    def rows(self) -> pd.DataFrame:
        """The rows that pass the filter, of all pages."""
        return self._rows

    def _turn(self, step: int) -> None:
        self.page.value += step  # the widget keeps it between its bounds

    def _narrow(self, _: object = None) -> None:
        self._rows = self._all
        for word in self.filter.value.lower().split():
            if self._texts is None:
                self._texts = self._all.astype(str).agg(" ".join, axis=1).str.lower() if len(self._all) else pd.Series()
            self._rows = self._rows[self._texts[self._rows.index].str.contains(word, regex=False)]
        self.page.max = max(-(-len(self._rows) // self._size), 1)
        self.page.value = 1
        self._render()

    def _render(self, _: object = None) -> None:
        first = (self.page.value - 1) * self._size
        part = self._rows.iloc[first : first + self._size]
        self.count.value = f"of {self.page.max}; {len(self._rows):,} of {len(self._all):,} rows"
        self.shown.value = _table(part) if len(part) else f"<p>{escape(self._empty)}</p>"


def _table(rows: pd.DataFrame) -> str:
    top = "".join(f"<th>{escape(head(name))}</th>" for name in rows.columns)
    marks = [_MARKS.get(str(value), "") for value in rows["change"]] if "change" in rows else [""] * len(rows)
    body = "".join(
        f"<tr{_classed(mark)}>{''.join(map(html_cell, row))}</tr>"
        for mark, row in zip(marks, rows.itertuples(index=False, name=None))
    )
    return f"{_STYLE}<div class='sk-rows'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def _classed(mark: str) -> str:
    return f' class="{mark}"' if mark else ""
