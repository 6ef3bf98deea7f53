"""The DataFrame of all answers: pandas' own, but for how it shows itself to people."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from simkit.meta.visible_text import html_text
from simkit.present.fitted_table import fitted
from simkit.present.readable_table import MOST, aligned, head, html_table, shown_of, shown_rows

if TYPE_CHECKING:
    from simkit.analysis.table_plot import TablePlot


class ReadableFrame(pd.DataFrame):
    """A DataFrame in readable form: heads in words, lists without brackets, yes and no, and no cell cut off.

    Only the display differs: columns, types and methods are those of pandas, and what is filtered, sorted or joined
    shows itself in the same way. At most ``pd.options.display.max_rows`` rows are shown; notebooks name the columns as
    code does, and search, sort and copy the first thousand rows. ``pd.DataFrame(rows)`` has the display of pandas.
    ``plot()`` without arguments draws the picture of the gallery, where there is one.

    Examples
    --------
    >>> ReadableFrame({"subject": ["user:ann"], "api_groups": [("", "apps")], "effective": [True]})
    subject   api groups  effective
    user:ann  "", apps    yes
    """

    @property
    def _constructor(self) -> Callable[..., ReadableFrame]:
        return ReadableFrame

    @property
    def plot(self) -> TablePlot:
        """The picture of the answer, or pandas' own: see ``TablePlot``."""
        from simkit.analysis.table_plot import TablePlot  # loads matplotlib, and asks for tables itself

        return TablePlot(self)

    def to_frame(self) -> ReadableFrame:
        """The table itself, as of every other answer."""
        return self

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._named(key))

    def _named(self, key: Any) -> Any:
        """The name of a column, or a list of them, where they are written as the table shows them: ``binding kind``."""
        if isinstance(key, list):
            return [self._named(one) if isinstance(one, str) else one for one in key]
        if not isinstance(key, str) or key in self.columns:
            return key
        return next((column for column in self.columns if isinstance(column, str) and head(column) == key), key)

    def __repr__(self) -> str:
        caveats = "".join(f"\n{text}" for text in self.attrs.get("caveats", ()))
        if not len(self):
            return f"No rows of: {', '.join(map(head, self.columns))}{caveats}"
        rows, told = shown_of(self._lines(), len(self), pd.get_option("display.max_rows"))
        heads = [head(name) for name in self._names()]
        if sys.stdout.isatty():
            text = fitted(heads, rows, width=shutil.get_terminal_size().columns, color=False)
        else:
            text = aligned(heads, rows)
        return f"{text}{told}".rstrip("\n") + caveats

    def _repr_html_(self) -> str:
        if not len(self):
            return f"<p>{html_text(repr(self))}</p>"
        most = pd.get_option("display.max_rows")
        _, told = shown_of((), len(self), most)
        rows, _ = shown_of(self._lines(), len(self), None if most is None else max(most, MOST))
        caveats = "".join(f"<p><b>{html_text(text)}</b></p>" for text in self.attrs.get("caveats", ()))
        return caveats + html_table([*map(str, self._names())], rows, told=told, shown=most, total=len(self))

    @property
    def _is_numbered(self) -> bool:
        """True if the index is mere numbers of rows, which are not shown."""
        return pd.api.types.is_integer_dtype(self.index.dtype) and self.index.name is None

    def _names(self) -> list[object]:
        """The names of the columns, after those of the index where it is shown."""
        levels = [] if self._is_numbered else [name or "" for name in self.index.names]
        return [*levels, *self.columns]

    def _lines(self) -> Iterator[tuple[Any, ...]]:
        numbered = self._is_numbered
        rows = shown_rows(list(self.columns), self.itertuples(index=False, name=None))
        for place, row in zip(self.index, rows):
            yield row if numbered else (*(place if isinstance(place, tuple) else (place,)), *row)
