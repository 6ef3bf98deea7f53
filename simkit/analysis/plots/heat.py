"""A heat map: the number of subjects with each risky permission in each namespace."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.ticker import NullLocator

from simkit.analysis.plots.style import INK, figure, shortened, title
from simkit.analysis.rbac.objects import EVERYWHERE

COLOURS = "Oranges"
"""From pale to dark, which colour-blind readers and grey prints tell apart: the most is the loudest."""


def access_heat_map(matrix: pd.DataFrame, *, top: int = 60, ax: Axes | None = None) -> Axes:
    """Namespaces by held permissions; the darker a field, the more subjects hold the permission there.

    Parameters
    ----------
    matrix
        A table of ``exposure``: one row a namespace, one column a permission, numbers of subjects.
    top
        How many namespaces are drawn at most: those in which most is held, besides the whole cluster.
    ax
        Axes to draw into; None: a figure of its own.
    """
    if not matrix.to_numpy().any():
        return _nobody(ax)
    every, matrix = len(matrix), _fullest(matrix, top)
    rows, columns = matrix.shape
    made, axes = figure(3.2 + 0.42 * columns, 2.6 + 0.21 * rows, ax)
    highest = max(int(matrix.to_numpy().max(initial=0)), 2)
    image = axes.imshow(matrix.where(matrix > 0), aspect="auto", cmap=COLOURS, norm=LogNorm(1, highest))
    places = ["(whole cluster)" if name == EVERYWHERE else shortened(str(name), 32) for name in matrix.index]
    axes.set_yticks(range(len(places)), places)
    axes.set_xticks(range(len(matrix.columns)), list(matrix.columns), rotation=60, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    for (row, column), number in np.ndenumerate(matrix.to_numpy(dtype=int)):
        _write_number(axes, row, column, int(number), highest)
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = made.colorbar(image, ax=axes, shrink=0.6, pad=0.02)
    bar.set_label("subjects", fontsize=9)
    bar.set_ticks(_round_numbers(highest))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_major_formatter("{x:.0f}")
    bar.ax.tick_params(labelsize=8)
    cut = f" (the {rows:,} fullest of {every:,} rows)" if rows < every else ""
    title(axes, f"Who can do what where: number of subjects per permission and namespace{cut}")
    return axes


def _round_numbers(highest: int) -> list[int]:
    """Numbers for the scale: 1, 2, 5, 10, 20, ... and the highest."""
    found = [step * 10**power for power in range(len(str(highest))) for step in (1, 2, 5)]
    return [*(number for number in found if number <= highest * 0.8), highest]


def _fullest(matrix: pd.DataFrame, top: int) -> pd.DataFrame:
    """The rows and columns with the largest numbers first, and the columns that are not empty in them.

    The row of the whole cluster is always kept, on top.
    """
    places = matrix.drop(index=EVERYWHERE, errors="ignore").sum(axis=1).nlargest(top).index
    wide = [EVERYWHERE] if EVERYWHERE in matrix.index else []
    kept = matrix.loc[[*wide, *places]]
    kept = kept.loc[kept.any(axis=1), kept.any()]
    return kept[kept.sum().sort_values(ascending=False, kind="stable").index]


def _nobody(ax: Axes | None) -> Axes:
    """A figure for a matrix without rows."""
    _, axes = figure(6, 1, ax)
    axes.set_axis_off()
    title(axes, "Nobody holds any of the permissions")
    return axes


def _write_number(axes: Axes, row: int, column: int, number: int, highest: int) -> None:
    if number:
        colour = "white" if number > highest**0.55 else INK
        axes.text(column, row, str(number), ha="center", va="center", fontsize=7.5, color=colour)
