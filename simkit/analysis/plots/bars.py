"""Bars: findings by check and severity, subjects by reach, root causes, and permissions gained and lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes

from simkit.analysis.plots.style import INK, SEVERITY_COLOURS, figure, shortened, title
from simkit.analysis.rendering import counted
from simkit.present.colours import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION


def findings_by_severity(findings: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """The number of findings of each check, stacked by severity, the worst on top.

    Parameters
    ----------
    findings
        A table of ``findings``: the columns ``check`` and ``severity`` are read.
    ax
        Axes to draw into; None: a figure of its own.
    """
    counts = pd.crosstab(findings["check"], findings["severity"]) if len(findings) else pd.DataFrame()
    levels = [level for level in SEVERITY_COLOURS if level in counts.columns]
    ordered = counts.sort_values(levels) if levels else counts
    _, axes = figure(8, 1.2 + 0.24 * max(len(ordered), 2), ax)
    left = pd.Series(0, index=ordered.index)
    for level in levels:
        axes.barh(ordered.index, ordered[level], left=left, color=SEVERITY_COLOURS[level], label=level)
        left = left + ordered[level]
    for place, total in enumerate(left):
        axes.text(total, place, f" {total}", va="center", fontsize=8, color=INK)
    axes.set_xlabel("findings", fontsize=9)
    axes.margins(y=0.01)
    title(axes, f"{counted(len(findings), 'finding')} by check and severity")
    if levels:
        axes.legend(fontsize=8, frameon=False, loc="lower right")
    return axes


def subjects_by_reach(reach: pd.DataFrame, *, top: int = 25, ax: Axes | None = None) -> Axes:
    """The subjects that hold the most sensitive permissions, cluster-wide ones in the darker colour.

    Parameters
    ----------
    reach
        A table of ``reach``: the columns ``subject``, ``cluster_wide`` and ``in_namespaces`` are read.
    top
        How many subjects to show.
    ax
        Axes to draw into; None: a figure of its own.
    """
    shown = reach.head(top).iloc[::-1]
    _, axes = figure(8, 1.2 + 0.24 * max(len(shown), 2), ax)
    labels = [shortened(text) for text in shown["subject"]]
    places = list(range(len(shown)))
    axes.barh(places, shown["cluster_wide"], color=BLUE, label="in the whole cluster")
    axes.barh(places, shown["in_namespaces"], left=shown["cluster_wide"], color=SKY, label="in single namespaces")
    axes.set_yticks(places, labels)
    axes.set_xlabel("sensitive permissions held", fontsize=9)
    axes.margins(y=0.01)
    title(axes, f"The {counted(len(shown), 'subject')} with the longest reach")
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    return axes


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
