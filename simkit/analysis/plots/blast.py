"""A blast radius as a picture: rings by hops."""

from __future__ import annotations

import math
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from simkit.analysis.plots.style import BLUE, GREEN, INK, ORANGE, SKY, VERMILION, figure, shortened, title

LABELLED: Final = 40
"""How many places get a label; the others are dots."""
_COLOURS: Final = {"everything": VERMILION, "node": ORANGE, "namespace": ORANGE, "ServiceAccount": GREEN, "User": BLUE}


def blast_figure(subject: str, reached: pd.DataFrame) -> Figure:
    """What a subject reaches, in rings: the nearer to the middle, the fewer hops.

    Parameters
    ----------
    reached
        The table of ``blast_radius``: the columns ``place``, ``kind`` and ``hops`` are read.
    """
    made, axes = figure(8, 8)
    rings = sorted(set(reached["hops"])) if len(reached) else []
    labelled = len(reached) <= LABELLED
    for number, hops in enumerate(rings, 1):
        ring = reached[reached["hops"] == hops]
        circle = [(number * math.cos(angle / 50), number * math.sin(angle / 50)) for angle in range(315)]
        axes.plot(*zip(*circle), color="#DDDDDD", linewidth=0.8, zorder=0)
        axes.text(0, number, f"{hops} hops", fontsize=7, color=INK, ha="center", va="bottom")
        for place, row in enumerate(ring.itertuples()):
            angle = 2 * math.pi * (place + 0.5) / len(ring) + number
            x, y = number * math.cos(angle), number * math.sin(angle)
            axes.scatter([x], [y], s=26, color=_COLOURS.get(str(row.kind), SKY), zorder=2)
            if labelled or row.kind == "everything":
                axes.text(x, y - 0.07, shortened(str(row.place), 26), fontsize=6.5, ha="center", va="top", color=INK)
    axes.scatter([0], [0], s=60, color=INK, zorder=3)
    axes.set_aspect("equal")
    axes.set_axis_off()
    title(axes, f"{shortened(subject)} reaches {len(reached)} places")
    return made


def first_hops(reached: pd.DataFrame) -> Figure:
    """How many places are reached within each number of hops, by kind."""
    counts = pd.crosstab(reached["hops"], reached["kind"]).sort_index() if len(reached) else pd.DataFrame()
    made, axes = figure(7, 3)
    bottom = pd.Series(0, index=counts.index)
    for kind in counts.columns:
        axes.bar(
            counts.index, counts[kind], bottom=bottom, label=kind, color=_COLOURS.get(str(kind), SKY), edgecolor="white"
        )
        bottom = bottom + counts[kind]
    axes.set_xlabel("hops", fontsize=9)
    if len(counts.columns):
        axes.legend(fontsize=7, frameon=False)
    title(axes, "Places by distance")
    return made
