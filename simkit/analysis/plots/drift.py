"""Access drift between two snapshots: the permissions that each subject gained and lost."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes

from simkit.analysis.plots.style import INK, figure, shortened, title
from simkit.analysis.rendering import counted
from simkit.present.colours import BLUE, VERMILION

LABEL_ROOM: Final = 1.12
"""The ratio of the axis to the longest bar, which leaves room for the numbers beside the bars."""


def access_drift(changes: pd.DataFrame, *, top: int = 30, ax: Axes | None = None) -> Axes:
    """The number of permissions that each subject gained (to the right) and lost (to the left), most changed first.

    Whoever gained or lost everything by a wildcard stands on top.

    Parameters
    ----------
    changes
        A table of ``compare``: the columns of subjects, ``change`` and what it is about are read.
    top
        How many subjects to show; the heading counts all of them.
    ax
        Axes to draw into; None: a figure of its own.
    """
    counts = _counts(changes)
    shown = counts.head(top).iloc[::-1]
    _, axes = figure(8, 1.4 + 0.26 * max(len(shown), 2), ax)
    places = list(range(len(shown)))
    longest = max(int(shown[["gained", "lost"]].to_numpy().max(initial=0)), 1)
    for change, sign, side, colour in (("gained", 1, "left", VERMILION), ("lost", -1, "right", BLUE)):
        lengths = shown[change].where(~shown[f"{change}_all"], longest)
        axes.barh(places, sign * lengths, color=colour, label=change)
        for place, (length, everything) in enumerate(zip(lengths, shown[f"{change}_all"])):
            if length:
                text = " everything " if everything else f" {int(length):,} "
                axes.text(sign * length, place, text, va="center", ha=side, fontsize=8, color=INK)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(places, [shortened(str(text)) for text in shown.index])
    room = longest * LABEL_ROOM
    axes.set_xlim(-room if shown["lost"].any() else 0, room if shown["gained"].any() else 0.01 * room)
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
    axes.set_xlabel("permissions", fontsize=9)
    axes.margins(y=0.01)
    title(axes, f"{counted(len(counts), 'subject')} whose access changed" if len(counts) else "Nobody's access changed")
    if len(counts):
        axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0)
    return axes


def _counts(changes: pd.DataFrame) -> pd.DataFrame:
    """The permissions gained and lost per subject, and True if it was full control; those first, then the most
    changed."""
    everything = (changes["verb"] == "*") & (changes["resource"] == "*") & (changes["api_group"] == "*")
    columns: dict[str, Any] = {}
    for change in ("gained", "lost"):
        meant = changes["change"] == change
        columns[change], columns[f"{change}_all"] = meant.astype(int), meant & everything
    summed = pd.DataFrame(columns).groupby(changes["subject"].astype(object)).sum()
    summed = summed.astype({"gained_all": bool, "lost_all": bool})
    keys = pd.DataFrame({"all": summed["gained_all"] | summed["lost_all"], "sum": summed["gained"] + summed["lost"]})
    return summed.loc[keys.sort_values(["all", "sum"], ascending=False, kind="stable").index]
