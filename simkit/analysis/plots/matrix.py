"""A heat map of namespaces by permissions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgb

from simkit.analysis.escalation.table.risky_permission import risky_permission_table
from simkit.analysis.plots.style import ROOM, Sheet, fitted, inches
from simkit.analysis.rbac.objects import EVERYWHERE
from simkit.analysis.rendering import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

CELL, NAME = 0.25, 2.6
"""Inches of a row, and of the names of namespaces and columns, at most."""
SLOPE: Final = 50


def access_heat_map(matrix: pd.DataFrame, *, top: int = 14, columns: int = 20, ax: Axes | None = None) -> Axes:
    """Namespaces by held permissions; the stronger a field, the more subjects hold the permission there.

    Parameters
    ----------
    matrix
        A table of ``exposure``: one row a namespace, one column a permission, numbers of subjects.
    top, columns
        How many namespaces and permissions are drawn at most, besides the whole cluster: those with the most.
    ax
        Axes to draw into; None: a figure of its own.
    """
    shown = _fullest(matrix, top, columns)
    names = ["whole cluster" if name == EVERYWHERE else fitted(str(name), NAME) for name in shown.index]
    left = max(map(inches, names), default=0) + 0.12
    heads = [fitted(str(name), NAME) for name in shown.columns]
    head = max(map(inches, heads), default=0) * math.sin(math.radians(SLOPE)) + 0.1
    shown = shown.iloc[:, : int((ROOM - left - head * 0.8) / (inches(f"{shown.to_numpy().max(initial=0):,}") + 0.06))]
    held = f"the fullest {len(shown)} of {matrix.any(axis=1).sum()} rows and {shown.shape[1]} of {matrix.any().sum()}"
    what = "have access to a resource" if matrix.columns.name == "resource" else "hold a permission"
    subtitle = f"Users, groups and service accounts that {what}, in {held} columns"
    sheet = Sheet(ax, _message(matrix), subtitle, body=CELL * len(shown) + head, left=left)
    sheet.in_inches()
    width, top_row = min((sheet.width - head * 0.8) / max(shown.shape[1], 1), 0.6), sheet.height - head
    numbers = shown.to_numpy(dtype=int)
    ramp = [sheet.colour(tone) for tone in ("band", "orange", "critical")]
    colours, scale = LinearSegmentedColormap.from_list("", ramp), LogNorm(1, max(int(numbers.max(initial=0)), 2))
    for (row, column), number in np.ndenumerate(numbers):
        if number:
            ground = colours(0.15 + 0.85 * float(scale(number)))
            x, y = column * width, top_row - (row + 1) * CELL
            sheet.axes.fill_between([x, x + width - 0.02], y, y + CELL - 0.02, color=ground, linewidth=0)
            light = float(np.dot(to_rgb(ground), (0.3, 0.6, 0.1))) > 0.5
            sheet.text(x + width / 2, y + CELL / 2, f"{number:,}", ha="center", color="#1F2328" if light else "white")
    for row, name in enumerate(names):
        sheet.text(-0.1, top_row - (row + 0.5) * CELL, name, ha="right")
    for column, text in enumerate(heads[: shown.shape[1]]):
        turned: dict[str, Any] = {"rotation": SLOPE, "rotation_mode": "anchor", "ha": "left", "va": "bottom"}
        sheet.text((column + 0.65) * width, top_row + 0.04, text, **turned)
    return sheet.axes


def _message(matrix: pd.DataFrame) -> str:
    """The most that is held: in the whole cluster, or else in a namespace."""
    if not matrix.to_numpy().any():
        return "Nobody holds any of the permissions"
    everywhere = EVERYWHERE in matrix.index and matrix.loc[EVERYWHERE].any()
    wide = EVERYWHERE if everywhere else str(matrix.max(axis=1).idxmax())
    held: Any = matrix.loc[wide]
    most, first = int(held.max()), str(held.idxmax())
    equal = int((held == most).sum())
    place = "in the whole cluster" if wide == EVERYWHERE else f"in {wide}"
    if matrix.columns.name == "resource":
        can = f"can use {first if equal == 1 else f'each of {equal:,} kinds of resources'}"
    else:
        can = next((one.title for one in risky_permission_table().permissions if one.id == first), f"hold {first}")
    return f"{counted(most, 'subject')} {can[:1].lower()}{can[1:]} {place}"


def _fullest(matrix: pd.DataFrame, top: int, columns: int) -> pd.DataFrame:
    """The rows and columns with the largest numbers first, none that are empty, and the whole cluster on top."""
    places = matrix.drop(index=EVERYWHERE, errors="ignore").sum(axis=1).nlargest(top).index
    kept = matrix.loc[[*([EVERYWHERE] if EVERYWHERE in matrix.index else []), *places]]
    kept = kept.loc[kept.any(axis=1), kept.any()]
    return kept[kept.sum().sort_values(ascending=False, kind="stable").index[:columns]]
