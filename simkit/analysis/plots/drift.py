"""Drift: who gained and who lost how much between two snapshots."""

from __future__ import annotations

from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from simkit.analysis.plots.style import BLUE, INK, VERMILION, figure, shortened, title

LABEL_ROOM: Final = 1.12
"""How much longer than the longest bar the axis is, for the numbers beside the bars."""


def access_drift(changes: pd.DataFrame, *, top: int = 30) -> Figure:
    """How many permissions each subject gained (to the right) and lost (to the left), most changed first.

    Parameters
    ----------
    changes
        A table of ``compare``: the columns of subjects, and ``change``, are read.
    top
        How many subjects to show; the heading counts all of them.
    """
    counts = _counts(changes)
    shown = counts.head(top).iloc[::-1]
    made, axes = figure(8, 1.4 + 0.26 * max(len(shown), 2))
    places = list(range(len(shown)))
    axes.barh(places, shown["gained"], color=VERMILION, label="gained")
    axes.barh(places, -shown["lost"], color=BLUE, label="lost")
    for place, (gained, lost) in enumerate(zip(shown["gained"], shown["lost"])):
        for number, sign, side in ((gained, 1, "left"), (lost, -1, "right")):
            if number:
                axes.text(sign * number, place, f" {number:,} ", va="center", ha=side, fontsize=8, color=INK)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(places, [shortened(str(text)) for text in shown.index])
    longest = max(int(counts.to_numpy().max(initial=0)), 1) * LABEL_ROOM
    axes.set_xlim(-longest if counts["lost"].any() else 0, longest if counts["gained"].any() else 0.01 * longest)
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
    axes.set_xlabel("permissions", fontsize=9)
    axes.margins(y=0.01)
    title(axes, f"{len(counts)} subjects whose access changed" if len(counts) else "Nobody's access changed")
    if len(counts):
        axes.legend(fontsize=8, frameon=False, loc="lower right")
    return made


def _counts(changes: pd.DataFrame) -> pd.DataFrame:
    """Gained and lost per subject, most changed first."""
    names = [
        f"sa:{namespace}/{name}" if kind == "ServiceAccount" else f"{str(kind).lower()}:{name}"
        for kind, namespace, name in zip(changes["subject_kind"], changes["subject_namespace"], changes["subject"])
    ]
    counts = pd.crosstab(pd.Series(names, dtype=object), pd.Series(list(changes["change"]), dtype=object))
    counts = counts.reindex(columns=["gained", "lost"], fill_value=0)
    return counts.loc[counts.sum(axis=1).sort_values(ascending=False, kind="stable").index]
