"""``.plot`` of tables: the picture that fits the table, and otherwise that of pandas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pandas as pd
from pandas.plotting import PlotAccessor

from simkit.analysis.rendering import PICTURE_FILE, THEME

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Picture = Callable[..., "Axes"]


class TablePlot(PlotAccessor):
    """The accessor of pandas, which draws the answer of a question as the gallery shows it.

    ``findings().plot()`` has bars by check and severity, ``exposure().plot()`` and ``access_matrix().plot()`` a heat
    map, ``reach().plot()`` bars, ``compare().plot()`` what was gained and lost, ``timeline()`` lanes. Other tables,
    and calls with arguments of pandas, are plotted by pandas.
    """

    _rows: pd.DataFrame

    def __init__(self, rows: pd.DataFrame) -> None:
        super().__init__(rows)
        self._rows = rows

    def __call__(self, *args: Any, ax: Axes | None = None, **options: Any) -> Any:
        """Draw into some axes, or into a figure of its own, and return the axes."""
        if "to" in options or any(str(one).endswith((".png", ".svg", ".pdf")) for one in args):
            raise TypeError(f"plot() writes no file; {PICTURE_FILE}")
        picture = None if args or options.keys() - {"theme"} else picture_of(self._rows)
        if picture is not None and options:
            raise TypeError(f"plot() has no argument 'theme'; {THEME}")
        if picture is not None:
            return picture(ax)
        plotted = self._rows.select_dtypes(["number", "datetime", "datetimetz", "timedelta"]).columns
        if not args and not options and plotted.empty:
            first = next(map(str, self._rows.columns), "subject")
            raise TypeError(
                "no numeric data to plot, and there is no picture of this table; count its rows, as in "
                f".groupby({first!r}).size().plot.barh(), or see the gallery for what has a picture"
            )
        return super().__call__(*args, **options) if ax is None else super().__call__(*args, ax=ax, **options)


def picture_of(rows: pd.DataFrame) -> Callable[[Axes | None], Axes] | None:
    """The drawing of a table that is the answer of a question; None for any other table."""
    from simkit.analysis import plots  # plots ask tables of this kind

    columns = {str(name) for name in rows.columns}
    if {"check", "severity"} <= columns and "breaks" not in columns:
        return lambda ax: plots.findings_by_severity(rows, ax=ax)
    if {"subject", "cluster_wide", "in_namespaces"} <= columns:
        return lambda ax: plots.subjects_by_reach(rows, ax=ax)
    if {"change", "subject", "scope", "bindings"} <= columns:
        return lambda ax: plots.access_drift(rows, ax=ax)
    if {"lane", "phase", "until"} <= columns:
        return lambda ax: plots.version_timeline(rows, ax=ax)
    if {"subject", "namespace", "resource", "bindings"} <= columns:
        return lambda ax: plots.access_heat_map(_counted(rows), ax=ax)
    if rows.index.name == "namespace" and len(columns) and all(map(pd.api.types.is_integer_dtype, rows.dtypes)):
        return lambda ax: plots.access_heat_map(rows, ax=ax)
    return None


def _counted(matrix: pd.DataFrame) -> pd.DataFrame:
    """A table of ``access_matrix`` as numbers of subjects by namespace and resource."""
    plain = matrix[["namespace", "resource"]].astype(object)
    return pd.crosstab(plain["namespace"], plain["resource"])
