"""Bars: findings by check and severity, subjects by reach."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from simkit.analysis.plots.style import INK, SEVERITY_COLOURS, figure, shortened, title
from simkit.analysis.rendering import counted
from simkit.present.colours import BLUE, SKY


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
