"""Curves: what remains after each change of a plan, and pods over the time of an operation."""

from __future__ import annotations

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from simkit.analysis.plots.style import INK, figure, shortened, title
from simkit.analysis.rendering import counted
from simkit.present.colours import BLUE, GREEN, VERMILION

NAMED: Final = 12
"""Changes whose words stand under the curve."""
LINE: Final = 0.16
"""Inches of a line of them."""


def plan_curve(steps: pd.DataFrame, *, before: tuple[int, int, int], knee: int = 0, ax: Axes | None = None) -> Axes:
    """The numbers of paths, subjects and findings that remain after each change of a plan.

    Parameters
    ----------
    steps
        A table of ``plan``: the columns ``change``, ``remaining``, ``subjects`` and ``findings`` are read.
    before
        How many paths, subjects and findings there are before the first change.
    knee
        The step to mark as the one after which more changes bring little; 0 for none.
    ax
        Axes to draw into; None: a figure of its own.
    """
    named = [f"{place}. {shortened(str(change), 100)}" for place, change in enumerate(steps["change"][:NAMED], 1)]
    if len(steps) > NAMED:
        named.append(f"... and {len(steps) - NAMED:,} more")
    _, axes = figure(10, 4.2 + LINE * len(named), ax)
    places = list(range(len(steps) + 1))
    curves = (("remaining", "paths", VERMILION, "o"), ("subjects", "subjects with a path", BLUE, "s"))
    for (column, label, colour, marker), first in zip((*curves, ("findings", "findings", GREEN, "^")), before):
        axes.step(places, [first, *steps[column]], where="post", color=colour, linewidth=1.2, alpha=0.6)
        axes.plot(places, [first, *steps[column]], marker, color=colour, markersize=4, label=label)
    if knee:
        axes.axvline(knee, color=INK, linewidth=1, linestyle=":")
        axes.text(knee, max(before), " later changes close less", fontsize=8, color=INK, va="top")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(20, integer=True))
    axes.set_xlim(-0.3, len(steps) + 0.3)
    axes.set_xlabel("changes made", fontsize=9)
    below = axes.annotate(
        "\n".join(named), (0, 0), xytext=(0, -44), xycoords="axes fraction", textcoords="offset points"
    )
    below.set(fontsize=8.5, color=INK, va="top")
    axes.set_ylabel("left", fontsize=9)
    title(axes, f"What remains after {counted(len(steps), 'change')}")
    axes.legend(fontsize=8, frameon=False, loc="upper right")
    return axes


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
