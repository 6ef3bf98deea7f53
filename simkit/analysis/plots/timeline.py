"""Lanes: the life of each version from its first release to its last, coloured by what may be relied on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from simkit.analysis.plots.style import BLUE, GREEN, GREY, INK, ORANGE, SKY, VERMILION, figure, shortened, title
from simkit.logic.lifecycle import Calendar

PHASES: Final[Mapping[str, str]] = {"alpha": SKY, "beta": BLUE, "stable": GREEN, "deprecated": ORANGE}


def timeline(lanes: pd.DataFrame, *, heading: str = "", calendar: Calendar | None = None, now: str = "") -> Figure:
    """One lane a version, with the days of releases above and what still uses it at the right.

    Parameters
    ----------
    lanes
        A table of ``analysis.timeline``.
    heading
        What to write above; by default what the lanes show.
    calendar
        Whose releases to mark; None: those of Kubernetes.
    now
        A release to mark with a line.
    """
    names = list(dict.fromkeys(lanes["lane"]))
    made, axes = figure(10, 1.4 + 0.28 * max(len(names), 2))
    places = {name: len(names) - 1 - place for place, name in enumerate(names)}
    for row in lanes.itertuples():
        start, end = _number(row.start), _number(row.end)
        colour = PHASES.get(str(row.phase), GREY)
        open_end = not row.until
        axes.barh(places[row.lane], end - start, left=start, height=0.62, color=colour, alpha=0.75 if open_end else 1)
        if not open_end and row.phase == "deprecated":
            axes.plot([end, end], [places[row.lane] - 0.38, places[row.lane] + 0.38], color=VERMILION, linewidth=2)
    axes.set_yticks(list(places.values()), [shortened(name, 64) for name in places])
    _usage(axes, lanes, places)
    _releases(axes, calendar or Calendar.of_kubernetes(), now)
    title(axes, heading or f"{len(names)} versions and what may be relied on")
    handles = [Patch(color=colour, label=phase) for phase, colour in PHASES.items() if phase in set(lanes["phase"])]
    if handles:
        axes.legend(handles=handles, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return made


def _usage(axes: Axes, lanes: pd.DataFrame, places: Mapping[str, int]) -> None:
    """How many objects and callers each version still has, after its lane."""
    for lane, rows in lanes.groupby("lane", sort=False):
        counts = {what: rows[what].dropna().max() for what in ("objects", "callers") if rows[what].notna().any()}
        text = ", ".join(f"{int(count)} {what}" for what, count in counts.items() if count)
        if text:
            axes.text(_number(rows["end"].max()), places[str(lane)], f" {text}", va="center", fontsize=8, color=INK)


def _releases(axes: Axes, calendar: Calendar, now: str) -> None:
    """Days below, releases above, as many as there is room for."""
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    low, high = axes.get_xlim()
    shown = [release for release in calendar.releases if low <= _number(release.day) <= high]
    step = max(1, len(shown) // 14)
    above = axes.secondary_xaxis("top")
    above.set_xticks([_number(each.day) for each in shown[::step]], [each.name for each in shown[::step]], fontsize=8)
    above.tick_params(length=2, colors=GREY)
    if now:
        axes.axvline(_number(calendar.release(now).day), color=INK, linewidth=1, linestyle=":")


def _number(day: object) -> float:
    """A day as the number that the axis counts in."""
    return float(date2num(day))  # type: ignore[no-untyped-call]
