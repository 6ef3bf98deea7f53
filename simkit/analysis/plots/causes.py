"""Root causes and plans as bars and curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd
from matplotlib.axes import Axes

from simkit.analysis.plots.style import INK, figure, shortened, title
from simkit.present.colours import BLUE, GREEN, GREY, ORANGE, VERMILION

NATURE_COLOURS: Final[Mapping[str, str]] = {
    "mistake": VERMILION,
    "unused": ORANGE,
    "administrators": BLUE,
    "product": GREEN,
    "server": GREY,
}


def causes_bars(causes: pd.DataFrame, *, top: int = 15, ax: Axes | None = None) -> Axes:
    """The number of escalation paths from each root cause, coloured by its nature.

    Parameters
    ----------
    causes
        A table of ``causes``: the columns ``cause``, ``nature``, ``paths`` and ``through`` are read.
    top
        How many causes to show; the heading counts all of them.
    ax
        Axes to draw into; None: a figure of its own.
    """
    shown = causes.head(top).iloc[::-1]
    _, axes = figure(11, 1.4 + 0.3 * max(len(shown), 2), ax)
    places = list(range(len(shown)))
    colours = [NATURE_COLOURS.get(str(name), GREY) for name in shown["nature"]]
    axes.barh(places, shown["paths"], color=colours)
    axes.barh(places, shown["through"], left=shown["paths"], color=colours, alpha=0.3)
    for place, (paths, through) in enumerate(zip(shown["paths"], shown["through"])):
        more = f" and {through:,} pass it" if through else ""
        axes.text(paths + through, place, f" {paths:,}{more}", va="center", fontsize=8, color=INK)
    axes.set_yticks(places, [shortened(str(text), 70) for text in shown["cause"]])
    axes.set_xlabel("escalation paths that begin with it (pale: that pass through it)", fontsize=9)
    axes.margins(x=0.12, y=0.01)
    axes.set_xlim(left=0)
    title(
        axes, f"The first {len(shown):,} of {len(causes):,} root causes" if len(causes) else "No root cause was found"
    )
    for name in dict.fromkeys(shown["nature"]):
        axes.bar([0], [0], color=NATURE_COLOURS.get(str(name), GREY), label=str(name))
    if len(shown):
        axes.legend(fontsize=8, frameon=False, loc="lower right")
    return axes
