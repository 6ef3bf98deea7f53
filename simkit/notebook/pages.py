"""A table of any length for notebooks; the browser gets one page at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import pandas as pd
import traitlets

from simkit.meta.visible_text import html_text, visible_lines
from simkit.notebook.parts import Part
from simkit.present.readable_table import cell, cut_short, html_table, is_number, shown_rows

PAGE: Final = 50
"""Rows per page; the browser gets no more at a time."""
MARKS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("new", "gained", "stored", "wrote", "changed"), "sk-more"),
    **dict.fromkeys(("gone", "lost"), "sk-less"),
    **dict.fromkeys(("refused", "denied", "failed", "removed"), "sk-bad"),
    "deprecated": "sk-warn",
}
"""Values of a column ``change``, ``outcome`` or ``phase`` that colour a row."""
_MARKING: Final = ("change", "outcome", "phase")
_FILTERED: Final = "No row holds these words."
"""The words in place of rows that all fail the filter, as in the browser."""
_FEW: Final = 12
"""Rows that need no filter."""
_DRAWING: Final = threading.RLock()
"""Held while a table changes: its rows come from the thread that found them, its filter and pages from another. One
lock for all tables, since a row that is chosen in one may fill the next."""
_LAST_OF_PAGE: Final = -2
"""The value of ``chosen`` with which the browser turns back to the last row of the page before."""


class Pages(Part):
    """A table of which one page is shown, filtered by words that its rows must contain, sorted by a column.

    A row is chosen by a click or with the arrow keys, which also turn pages; Enter activates it. Rows whose column
    ``change``, ``outcome`` or ``phase`` has a value of ``MARKS`` are coloured.

    Attributes
    ----------
    page, pages
        The page that is shown, from 1, and how many there are.
    filter
        Words that shown rows hold, in any case.
    sort
        The column to sort by, with a minus in front for the other direction; empty: the order of the rows.
    chosen
        The number of the chosen row on the page, from 0; -1 if none is.
    notes
        The limits of the answer, above its rows.
    waits
        True from ``clear`` to ``show``: nobody knows the rows yet.

    Notes
    -----
    Turning a page renders that page alone; narrowing and sorting are O(cells).
    """

    kind = traitlets.Unicode("table").tag(sync=True)
    columns = traitlets.List(traitlets.Unicode()).tag(sync=True)
    cells: traitlets.List[list[dict[str, Any]]] = traitlets.List().tag(sync=True)
    marks = traitlets.List(traitlets.Unicode()).tag(sync=True)
    first = traitlets.Int(0).tag(sync=True)
    waits = traitlets.Bool(False).tag(sync=True)
    drawn = traitlets.Int(0).tag(sync=True)
    page = traitlets.Int(1).tag(sync=True)
    pages = traitlets.Int(1).tag(sync=True)
    matching = traitlets.Int(0).tag(sync=True)
    total = traitlets.Int(0).tag(sync=True)
    filter = traitlets.Unicode("").tag(sync=True)
    sort = traitlets.Unicode("").tag(sync=True)
    chosen = traitlets.Int(-1).tag(sync=True)
    activated = traitlets.Int(0).tag(sync=True)
    empty = traitlets.Unicode("Nothing.").tag(sync=True)
    label = traitlets.Unicode("table").tag(sync=True)
    notes = traitlets.List(traitlets.Unicode()).tag(sync=True)
    bar = traitlets.Bool(True).tag(sync=True)

    def __init__(
        self, rows: pd.DataFrame | None = None, *, page: int = PAGE, empty: str = "Nothing.", label: str = "table"
    ) -> None:
        self.size = page
        super().__init__(empty=empty, label=label)
        self.show(pd.DataFrame() if rows is None else rows)
        self.observe(lambda _: self._narrow(), ["filter", "sort"])
        self.observe(lambda _: self._render(), "page")

    def show(self, rows: pd.DataFrame) -> None:
        """Replace the rows of the table, and show the first page. A column to sort by stays if it is there."""
        with _DRAWING, self.hold_sync():
            self._all = rows.reset_index(drop=True)
            self.notes = list(rows.attrs.get("caveats", ()))
            self._texts: pd.Series[str] | None = None
            self.waits = False
            if self.sort.removeprefix("-") not in self._all:
                self.sort = ""
            self.bar = len(rows) > min(self.size, _FEW) or bool(self.filter)
            self._narrow()

    def clear(self) -> None:
        """Take the rows away until ``show`` brings those that are looked for. The table keeps its place on the page."""
        with _DRAWING, self.hold_sync():
            self.show(pd.DataFrame())
            self.waits = True

    @property
    def rows(self) -> pd.DataFrame:
        """The rows that pass the filter, of all pages."""
        return self._rows

    @property
    def row(self) -> dict[str, Any] | None:
        """The chosen row by column; None if none is chosen."""
        number = self.number
        if number < 0:
            return None
        return {str(name): value for name, value in self._rows.iloc[number].items()}

    @property
    def position(self) -> int:
        """The place of the chosen row among all rows that ``show`` was given; -1 if none is chosen."""
        number = self.number
        return int(self._rows.index[number]) if number >= 0 else -1

    @property
    def number(self) -> int:
        """The place of the chosen row among those that pass the filter, in their order; -1 if none is chosen."""
        number = (self.page - 1) * self.size + self.chosen
        return number if self.chosen >= 0 and number < len(self._rows) else -1

    def choose(self, number: int) -> None:
        """Choose a row by its number among those that pass the filter, and show its page."""
        self.page = number // self.size + 1
        self.chosen = number % self.size

    def on_choose(self, callback: Callable[[dict[str, Any]], None]) -> None:
        """Call a function with each row that is chosen."""
        self.observe(lambda _: self._tell(callback), "chosen")

    def on_activate(self, callback: Callable[[dict[str, Any]], None]) -> None:
        """Call a function with each row on which somebody presses Enter, or clicks twice."""
        self.observe(lambda _: self._tell(callback), "activated")

    def _tell(self, callback: Callable[[dict[str, Any]], None]) -> None:
        row = self.row
        if row is not None:
            callback(row)

    def _narrow(self) -> None:
        with _DRAWING, self.hold_sync():
            self._rows = self._sorted(self._with_words(self.filter.lower().split()))
            self.pages = max(-(-len(self._rows) // self.size), 1)
            self.matching, self.total = len(self._rows), len(self._all)
            self.chosen = -1
            if self.page != 1:
                self.page = 1
            else:
                self._render()

    def _with_words(self, words: Sequence[str]) -> pd.DataFrame:
        """The rows that hold all of some words in lower case."""
        rows = self._all
        for word in words if len(rows) else ():
            if self._texts is None:
                self._texts = reduce(lambda left, right: left + " " + right, _texts(rows)).str.lower()
            rows = rows[self._texts[rows.index].str.contains(word, regex=False)]
        return rows

    def _sorted(self, rows: pd.DataFrame) -> pd.DataFrame:
        column = self.sort.removeprefix("-")
        if column not in rows:
            return rows
        order = rows[column]
        keys = order if pd.api.types.is_numeric_dtype(order) else order.map(cell)
        return rows.loc[keys.sort_values(kind="stable", ascending=column == self.sort).index]

    def _render(self) -> None:
        with _DRAWING, self.hold_sync():
            self.page = min(max(self.page, 1), self.pages)
            part = self._part()
            self.first = (self.page - 1) * self.size
            self.drawn += 1  # tells the page that what it asked for was heard, also where the rows stay the same
            self.columns = [str(name) for name in part.columns]
            self.cells = [[_cell(value) for value in row] for row in _rows_of(part)]
            marking = next((name for name in _MARKING if name in part), None)
            self.marks = [MARKS.get(str(value), "") for value in part[marking]] if marking else []
            self.chosen = len(part) - 1 if self.chosen == _LAST_OF_PAGE else min(self.chosen, len(part) - 1)

    def _part(self) -> pd.DataFrame:
        first = (self.page - 1) * self.size
        return self._rows.iloc[first : first + self.size]

    def static_html(self) -> str:
        """The page as it is shown, for readers without a kernel."""
        part = self._part()
        notes = "".join(f"<p><b>{html_text(note)}</b></p>" for note in self.notes)
        if not len(part):
            told = _FILTERED if len(self._all) else self.empty
            return f"{notes}<p><i>{html_text(told)}</i></p>" if told and not self.waits else notes
        told = f"{len(part):,} of {len(self._all):,} rows" if len(part) < len(self._all) else ""
        return notes + html_table([*map(str, part.columns)], _rows_of(part), told=told)


def _texts(rows: pd.DataFrame) -> Iterator[pd.Series[str]]:
    """The columns as texts."""
    return (rows.iloc[:, number].astype(str) for number in range(rows.shape[1]))


def _rows_of(part: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    return shown_rows(list(part.columns), part.itertuples(index=False, name=None))


def _cell(value: Any) -> dict[str, Any]:
    text = visible_lines(cut_short(cell(value)))
    return {"text": text, "number": True} if is_number(value) else {"text": text}
