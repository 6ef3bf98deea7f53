"""An operation as curves: pods that are ready, pending and terminating, over time."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from simkit.analysis.plots.style import figure, title
from simkit.present.colours import BLUE, GREEN, VERMILION


def operation_curve(moments: pd.DataFrame, *, name: str = "", ax: Axes | None = None) -> Axes:
    """The numbers of pods over the time of an operation.

    Parameters
    ----------
    moments
        A table of ``Operation.timeline``: the columns ``second``, ``ready``, ``pending`` and ``terminating``.
    name
        What was done, for the title.
    ax
        Axes to draw into; None: a figure of its own.
    """
    _, axes = figure(9, 3.6, ax)
    minutes = [second / 60 for second in moments["second"]]
    for column, colour in (("ready", GREEN), ("pending", VERMILION), ("terminating", BLUE)):
        axes.step(minutes, list(moments[column]), where="post", color=colour, linewidth=1.4, label=column)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("minutes", fontsize=9)
    axes.set_ylabel("pods", fontsize=9)
    title(axes, f"Pods during a {name}" if name else "Pods during an operation")
    axes.legend(fontsize=8, frameon=False, loc="center right")
    return axes
