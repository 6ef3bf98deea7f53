"""Lanes: the life of each version from its first release to its last, coloured by stability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from simkit.analysis.plots.style import INK, figure, shortened, title
from simkit.logic.lifecycle import Calendar, Release
from simkit.present.colours import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

PHASES: Final[Mapping[str, str]] = {"alpha": SKY, "beta": BLUE, "stable": GREEN, "deprecated": ORANGE}


PALE: Final = 0.6
"""The strength of the colour of a version that stays."""
ROOM: Final = 13
"""The most names of releases above the lanes."""
LATER: Final = 12
"""The most future releases that are named."""


def timeline(
    lanes: pd.DataFrame, *, heading: str = "", calendar: Calendar | None = None, now: str = "", ax: Axes | None = None
) -> Axes:
    """One lane per version, with release days above and the remaining users at the right.

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
    ax
        Axes to draw into; None: a figure of its own.
    """
    names = list(dict.fromkeys(lanes["lane"]))
    used = bool(lanes[["objects", "callers"]].notna().to_numpy().any())
    made, axes = figure(12 if used else 10, 1.4 + 0.28 * max(len(names), 2), ax)
    places = {name: len(names) - 1 - place for place, name in enumerate(names)}
    last = dict(zip(lanes["lane"], lanes.index, strict=True))
    for row in lanes.itertuples():
        start, end = _number(row.start), _number(row.end)
        colour = PHASES.get(str(row.phase), GREY)
        axes.barh(places[row.lane], end - start, left=start, height=0.62, color=colour, alpha=1 if row.until else PALE)
        if row.until and row.Index == last[row.lane]:
            axes.plot([end, end], [places[row.lane] - 0.38, places[row.lane] + 0.38], color=VERMILION, linewidth=2)
    axes.set_yticks(list(places.values()), [shortened(name, 64) for name in places])
    _usage(axes, lanes, places)
    _releases(axes, calendar or Calendar.of_kubernetes(), now)
    title(axes, heading or f"{len(names)} versions and what may be relied on")
    handles = _legend(lanes, now)
    if handles:
        made.legend(handles=handles, fontsize=8, frameon=False, loc="outside right upper")
    return axes


def _legend(lanes: pd.DataFrame, now: str) -> list[Artist]:
    """The legend of the colours and lines that are drawn."""
    handles: list[Artist] = [
        Patch(color=colour, label=phase) for phase, colour in PHASES.items() if phase in set(lanes["phase"])
    ]
    if len(lanes) and not lanes["until"].all():
        handles.append(Patch(color=GREY, alpha=PALE / 2, label="paler: no end in sight"))
    if len(lanes) and lanes["until"].any():
        handles.append(Line2D([], [], color=VERMILION, linewidth=2, label="no longer served"))
    if now:
        handles.append(Line2D([], [], color=INK, linewidth=1, linestyle=":", label=f"release {now}"))
    return handles


def _usage(axes: Axes, lanes: pd.DataFrame, places: Mapping[str, int]) -> None:
    """Write after each lane the number of objects and callers that the version still has."""
    for lane, rows in lanes.groupby("lane", sort=False):
        counts = {what: rows[what].dropna().max() for what in ("objects", "callers") if rows[what].notna().any()}
        text = ", ".join(f"{int(count)} {what if count > 1 else what[:-1]}" for what, count in counts.items() if count)
        if text:
            axes.text(_number(rows["end"].max()), places[str(lane)], f" {text}", va="center", fontsize=8, color=INK)


def _releases(axes: Axes, calendar: Calendar, now: str) -> None:
    """Draw days below and releases above, as many as there is room for."""
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    low, high = axes.get_xlim()
    ahead = (calendar.at(place) for place in range(len(calendar.releases) + LATER))
    shown = [release for release in ahead if low <= _number(release.day) <= high]
    room, kept = (high - low) / ROOM, list[Release]()
    for release in shown:
        if not kept or _number(release.day) - _number(kept[-1].day) >= room:
            kept.append(release)
    above = axes.secondary_xaxis("top")
    above.set_xticks([_number(each.day) for each in kept], [each.name for each in kept], fontsize=8)
    above.tick_params(length=2, colors=GREY)
    if now:
        axes.axvline(_number(calendar.release(now).day), color=INK, linewidth=1, linestyle=":")


def _number(day: object) -> float:
    """A day as a number on the axis."""
    return float(date2num(day))  # type: ignore[no-untyped-call]
