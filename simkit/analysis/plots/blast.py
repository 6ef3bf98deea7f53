"""A blast radius as a picture: rings by hops, segments by what is reached, with numbers and names."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from matplotlib.patches import Wedge

from simkit.analysis.plots.style import INK, figure, shortened, title
from simkit.analysis.rendering import counted
from simkit.present.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NAMED: Final = 2
"""Of how many places of one kind in one ring the names are written; of more their number."""
LETTERS: Final = 17
"""Letters in a line of a segment."""
MIDDLE: Final = 0.9
"""The radius of the middle, in which the subject stands."""
GAP: Final = 26.0
"""Degrees at the top that are left free for the ring's own label."""
LEAST: Final = 0.95
"""The least length of a segment's arc, in rings, so that its words fit."""
MOST_RINGS: Final = 5
LARGE, SMALLEST, LARGEST = 34, 6.5, 12
"""Points of the letters in a picture that is one ring wide, and their limits: the fewer rings, the larger they are."""
_KINDS: Final = {
    "everything": (VERMILION, "cluster-admin"),
    "namespace": (ORANGE, "namespaces"),
    "node": (PURPLE, "nodes"),
    "node-identity": (PURPLE, "identities of nodes"),
    "ServiceAccount": (GREEN, "service accounts"),
    "User": (BLUE, "users"),
    "Group": (BLUE, "groups"),
    "rules": (GREY, "roles"),
    "pod": (SKY, "pods"),
    "secrets": (SKY, "secrets"),
    "impact": (GREY, "kinds of harm"),
}
"""The colour and the name of each kind that is drawn, the gravest first.

Colours mean one thing each: everything; a namespace; nodes; workloads' identities; people; what identities run and
hold; what only adds or harms.
"""


def blast_figure(subject: str, reached: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """The reached places in rings: the nearer to the middle, the fewer hops; what is far away is one ring.

    Parameters
    ----------
    subject
        Who stands in the middle.
    reached
        The table of ``blast_radius``: the columns ``place``, ``kind``, ``name`` and ``hops`` are read.
    ax
        Axes to draw into; None: a figure of its own.
    """
    _, axes = figure(10, 10, ax)
    drawn = reached
    hops = sorted(set(drawn["hops"]))
    near, far = hops[: MOST_RINGS - 1], hops[MOST_RINGS - 1 :]
    rings = [(counted(int(one), "hop"), drawn[drawn["hops"] == one]) for one in near]
    if far:
        label = counted(int(far[0]), "hop") if len(far) == 1 else f"{int(far[0])} hops or more"
        rings.append((label, drawn[drawn["hops"].isin(far)]))
    side = len(rings) + MIDDLE + 0.2
    size = min(max(LARGE / side, SMALLEST), LARGEST)
    for number, (label, ring) in enumerate(rings):
        _ring(axes, MIDDLE + number, ring, size)
        axes.text(0, MIDDLE + number + 0.5, label, fontsize=size, color=INK, ha="center", va="center")
    name = "\n".join(wrap(shortened(subject, 40).replace(":", ": "), 20)).replace(": ", ":")
    axes.text(0, 0, name, fontsize=size + 1, color=INK, ha="center", va="center", weight="bold")
    axes.set_xlim(-side, side)
    axes.set_ylim(-side, side)
    axes.set_aspect("equal")
    axes.set_axis_off()
    title(axes, f"{shortened(subject)} reaches {counted(len(drawn), 'place')}")
    return axes


def _ring(axes: Any, radius: float, ring: pd.DataFrame, size: float) -> None:
    """One ring: a segment of each kind, the gravest at the right of the top, and on clockwise."""
    counts = ring["kind"].value_counts()
    kinds = [kind for kind in _KINDS if counts.get(kind)]
    end = 90 - GAP / 2
    for kind, degrees in zip(kinds, _shares([int(counts[kind]) for kind in kinds], radius)):
        colour, words = _KINDS[kind]
        alpha = 0.55 if kind == "everything" else 0.25
        segment = Wedge((0, 0), radius + 0.97, end - degrees + 0.4, end, width=0.94, facecolor=colour, edgecolor=colour)
        segment.set_alpha(alpha)
        axes.add_patch(segment)
        angle, middle = math.radians(end - degrees / 2), radius + 0.5
        text = _words(kind, list(ring.loc[ring["kind"] == kind, "place"]), words)
        weight = "bold" if kind == "everything" else "normal"
        place = (middle * math.cos(angle), middle * math.sin(angle))
        axes.text(*place, text, fontsize=size, color=INK, ha="center", va="center", weight=weight)
        end -= degrees


def _words(kind: str, places: list[str], words: str) -> str:
    """Names of few, the number of many."""
    if kind == "everything":
        return words
    if len(places) > NAMED:
        return f"{len(places):,}\n" + "\n".join(wrap(words, LETTERS))
    return "\n".join(line for place in places for line in _two_lines(str(place)))


def _two_lines(text: str) -> list[str]:
    """A name in at most two lines, cut in its middle where it is longer."""
    found = wrap(text, LETTERS, break_on_hyphens=False)
    return [shortened(found[0], LETTERS), *([shortened(" ".join(found[1:]), LETTERS)] if found[1:] else [])]


def _shares(counts: list[int], radius: float) -> list[float]:
    """The degrees of each segment: by the root of its number, and at least enough for its words."""
    room = 360 - GAP
    least = min(math.degrees(LEAST / (radius + 0.5)), room / max(len(counts), 1))
    weights = [math.sqrt(count) for count in counts]
    spare = room - least * len(counts)
    return [least + spare * weight / sum(weights) for weight in weights]
