"""A blast radius as a picture: rings by hops, arcs by kind."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from simkit.analysis.plots.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    figure,
    shortened,
    title,
)
from simkit.analysis.rendering import counted

NAMED: Final = 12
"""The most names of one kind in one ring; of more, only the number is written."""
APART: Final = 0.2
"""The distance of two dots from which both get a name."""
MIDDLE: Final = 0.6
"""An addition to the radius of each ring, so that the first one is not a dot."""
GAP: Final = 0.5
"""The angle at the top that is left free for the ring's own label."""
_KINDS: Final = {
    "everything": (VERMILION, "cluster-admin"),
    "namespace": (ORANGE, "whole namespaces"),
    "node": (PURPLE, "nodes"),
    "node-identity": (PURPLE, "identities of nodes"),
    "ServiceAccount": (GREEN, "service accounts"),
    "User": (BLUE, "users"),
    "Group": (BLUE, "groups"),
    "rules": (INK, "roles"),
    "pod": (SKY, "pods"),
    "secrets": (GREY, "secrets"),
    "impact": (GREY, "kinds of harm"),
}
"""The colour and the name of each kind, the most serious first. Sets to choose from are left out."""


def blast_figure(subject: str, reached: pd.DataFrame, *, ax: Axes | None = None) -> Figure:
    """The reach of a subject in rings: the nearer to the middle, the fewer hops.

    Parameters
    ----------
    reached
        The table of ``blast_radius``: the columns ``place``, ``kind``, ``name`` and ``hops`` are read.
    ax
        Axes to draw into; None: a figure of its own.
    """
    made, axes = figure(9, 9, ax)
    drawn = reached[reached["kind"].isin(_KINDS)]
    rings = sorted(set(drawn["hops"]))
    for number, hops in enumerate(rings, 1):
        _ring(axes, number + MIDDLE, drawn[drawn["hops"] == hops])
        axes.text(
            0, number + MIDDLE, counted(hops, "hop"), fontsize=7, color=INK, ha="center", va="center", bbox=_PAPER
        )
    axes.scatter([0], [0], s=60, color=INK, zorder=3)
    axes.text(0, -0.07, shortened(subject, 32), fontsize=8, color=INK, ha="center", va="top")
    side = len(rings) + MIDDLE + 0.7
    axes.set_xlim(-side, side)
    axes.set_ylim(-side, side)
    axes.set_aspect("equal")
    axes.set_axis_off()
    _legend(axes, drawn)
    title(axes, f"{shortened(subject)} reaches {counted(len(drawn), 'place')}")
    return made


_PAPER: Final = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none"}


def _ring(axes: Any, radius: float, ring: pd.DataFrame) -> None:
    """Draw one ring: kinds one after the other, each with its dots, and with names if there are few."""
    circle = [(radius * math.cos(angle / 50), radius * math.sin(angle / 50)) for angle in range(315)]
    axes.plot(*zip(*circle), color="#DDDDDD", linewidth=0.8, zorder=0)
    place = 0
    for kind, (colour, words) in _KINDS.items():
        names = list(ring.loc[ring["kind"] == kind, "place"])
        angles = [_angle(place + one, len(ring)) for one in range(len(names))]
        axes.scatter(*_points(radius, angles), s=26, color=colour, zorder=2)
        roomy = radius * (2 * math.pi - GAP) / len(ring) > APART
        if len(names) == 1 or (len(names) <= NAMED and roomy):
            for name, angle in zip(names, angles):
                _write(axes, radius, angle, shortened(name, 28))
        elif names:
            _write(axes, radius, sum(angles) / len(angles), f"{words}: {len(names)}")
        place += len(names)


def _angle(place: int, count: int) -> float:
    """The angle of a dot: clockwise from the right of the top, where the ring's own label stands."""
    return math.pi / 2 - GAP / 2 - (2 * math.pi - GAP) * (place + 0.5) / count


def _points(radius: float, angles: Iterable[float]) -> tuple[list[float], list[float]]:
    listed = list(angles)
    return [radius * math.cos(one) for one in listed], [radius * math.sin(one) for one in listed]


def _write(axes: Any, radius: float, angle: float, text: str) -> None:
    """Write a label just outside of a ring."""
    x, y = (radius + 0.06) * math.cos(angle), (radius + 0.06) * math.sin(angle)
    side = "left" if math.cos(angle) >= 0 else "right"
    axes.text(x, y, text, fontsize=7, color=INK, ha=side, va="bottom" if y >= 0 else "top", zorder=4)


def _legend(axes: Any, drawn: pd.DataFrame) -> None:
    for kind, (colour, words) in _KINDS.items():
        count = int((drawn["kind"] == kind).sum())
        if count:
            label = words if kind == "everything" else f"{words}: {count}"
            axes.scatter([], [], s=26, color=colour, label=label)
    if len(drawn):
        axes.legend(fontsize=7, frameon=False, loc="lower left", ncols=2)
