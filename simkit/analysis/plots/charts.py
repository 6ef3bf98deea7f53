"""Charts of tables: bars of findings, subjects, causes and changes; curves of plans and operations; a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.ticker import MaxNLocator, NullLocator

from simkit.analysis.plots.style import INK, SEVERITY_COLOURS, figure, shortened, title
from simkit.analysis.rbac.objects import EVERYWHERE
from simkit.analysis.rendering import counted
from simkit.present.colours import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


COLOURS = "Oranges"
"""From pale to dark, which colour-blind readers and grey prints tell apart: the most is the loudest."""


def access_heat_map(matrix: pd.DataFrame, *, top: int = 60, ax: Axes | None = None) -> Axes:
    """Namespaces by held permissions; the darker a field, the more subjects hold the permission there.

    Parameters
    ----------
    matrix
        A table of ``exposure``: one row a namespace, one column a permission, numbers of subjects.
    top
        How many namespaces are drawn at most: those in which most is held, besides the whole cluster.
    ax
        Axes to draw into; None: a figure of its own.
    """
    if not matrix.to_numpy().any():
        return _nobody(ax)
    every, matrix = len(matrix), _fullest(matrix, top)
    rows, columns = matrix.shape
    made, axes = figure(3.2 + 0.42 * columns, 2.6 + 0.21 * rows, ax)
    highest = max(int(matrix.to_numpy().max(initial=0)), 2)
    image = axes.imshow(matrix.where(matrix > 0), aspect="auto", cmap=COLOURS, norm=LogNorm(1, highest))
    places = ["(whole cluster)" if name == EVERYWHERE else shortened(str(name), 32) for name in matrix.index]
    axes.set_yticks(range(len(places)), places)
    axes.set_xticks(range(len(matrix.columns)), list(matrix.columns), rotation=60, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    for (row, column), number in np.ndenumerate(matrix.to_numpy(dtype=int)):
        _write_number(axes, row, column, int(number), highest)
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = made.colorbar(image, ax=axes, shrink=0.6, pad=0.02)
    bar.set_label("subjects", fontsize=9)
    bar.set_ticks(_round_numbers(highest))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_major_formatter("{x:.0f}")
    bar.ax.tick_params(labelsize=8)
    cut = f" (the {rows:,} fullest of {every:,} rows)" if rows < every else ""
    title(axes, f"Who can do what where: number of subjects per permission and namespace{cut}")
    return axes


def _round_numbers(highest: int) -> list[int]:
    """Numbers for the scale: 1, 2, 5, 10, 20, ... and the highest."""
    found = [step * 10**power for power in range(len(str(highest))) for step in (1, 2, 5)]
    return [*(number for number in found if number <= highest * 0.8), highest]


def _fullest(matrix: pd.DataFrame, top: int) -> pd.DataFrame:
    """The rows and columns with the largest numbers first, and the columns that are not empty in them.

    The row of the whole cluster is always kept, on top.
    """
    places = matrix.drop(index=EVERYWHERE, errors="ignore").sum(axis=1).nlargest(top).index
    wide = [EVERYWHERE] if EVERYWHERE in matrix.index else []
    kept = matrix.loc[[*wide, *places]]
    kept = kept.loc[kept.any(axis=1), kept.any()]
    return kept[kept.sum().sort_values(ascending=False, kind="stable").index]


def _nobody(ax: Axes | None) -> Axes:
    """A figure for a matrix without rows."""
    _, axes = figure(6, 1, ax)
    axes.set_axis_off()
    title(axes, "Nobody holds any of the permissions")
    return axes


def _write_number(axes: Axes, row: int, column: int, number: int, highest: int) -> None:
    if number:
        colour = "white" if number > highest**0.55 else INK
        axes.text(column, row, str(number), ha="center", va="center", fontsize=7.5, color=colour)
