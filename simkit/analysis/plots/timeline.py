"""Lanes over time: the lives of API versions from release to release, and the intervals in which permissions held."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from matplotlib.dates import AutoDateLocator, date2num, num2date

from simkit.analysis.plots.style import EDGE, HIGH, ROOM, TEXT, Sheet, fitted, inches, leading, wrapped
from simkit.analysis.rendering import counted
from simkit.logic.lifecycle import Calendar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes


PHASES: Final = (("alpha", "sky"), ("beta", "blue"), ("stable", "green"), ("deprecated", "orange"))
LANE, HEAD, GAP, NAME = 0.235, 0.34, 0.12, 3.1
"""Inches of a lane, of the releases above all lanes, between two kinds, and of the names of kinds, at most."""


class Lane(NamedTuple):
    """A version with its phases (name, start, end), the release that no longer has it, and what stands after it."""

    phases: tuple[tuple[str, float, float], ...]
    until: str
    text: str
    used: bool


class Kinds(NamedTuple):
    """Kinds of a group whose versions have the same lives."""

    group: str
    lanes: tuple[Lane, ...]
    kinds: list[str]


def timeline(
    rows: pd.DataFrame, *, heading: str = "", calendar: Calendar | None = None, now: str = "", target: str = "",
    today: date | None = None, lanes: int = 25, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """The versions of each kind, with releases above, the release of each removal, and the users that remain.

    Kinds of a group whose versions have the same lives share their lanes. Alpha versions of Kubernetes that nobody uses
    are left out, unless there are no others. What is planned after today is hatched.

    Parameters
    ----------
    rows
        A table of ``analysis.timeline``.
    heading
        The message; by default what is removed, and when.
    calendar
        Whose releases to mark; None: those of Kubernetes.
    now, target
        Releases to mark with a line: that of the cluster, and that of its upgrade.
    today
        The day of another line; None: today.
    lanes
        How many lanes are drawn at most: first those with users, then those with the latest removals.
    ax
        Axes to draw into; None: a figure of its own.
    """
    dates, day = calendar or Calendar.of_kubernetes(), _number(today or date.today())
    shown = _chosen(_folded(rows, alphas=calendar is not None), dates, lanes)
    every = [lane for each in shown for lane in each.lanes]
    names = [_names(each) for each in shown]
    left = max((inches(line, bold=True) for name in names for line, _ in name), default=0) + 0.15
    used = {phase for lane in every for phase, _, _ in lane.phases}
    left_out = rows["lane"].nunique() - sum(len(each.lanes) * len(each.kinds) for each in shown)
    subtitle = "Each bar is a version, from its first release to its removal; hatched: still to come"
    subtitle += f"; {counted(left_out, 'version')} left out" if left_out else ""
    body, key = HEAD + LANE * len(every) + GAP * len(shown), [pair for pair in PHASES if pair[0] in used]
    message = heading or _message(rows, dates, now, target)
    sheet = Sheet(ax, message, subtitle, body=body, left=left, below=0.45, key=key)
    marks = [(now, " now" if target else "", "right" if target else "center"), (target, " target", "left")]
    marked = [(_number(dates.release(name).day), name + word, side) for name, word, side in marks if name]
    low = min([lane.phases[0][1] for lane in every] + [x - 300 for x, _, _ in marked], default=day - 365)
    ends = [(lane.phases[-1][2], lane.text) for lane in every] + [(x, text) for x, text, _ in marked]
    scale = min(((sheet.width - inches(text) - 0.15) / (x - low) for x, text in ends if x > low), default=0.01)
    sheet.axes.set(xlim=(low, low + sheet.width / scale), ylim=(0, body), xticks=[], yticks=[])
    y = body - HEAD
    for each, name in zip(shown, names):
        for number, (line, bold) in enumerate(name):
            place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "shift": (-8, 0), "ha": "right"}
            sheet.text(0, y - LANE * (number + 0.5), line, bold=bold, tone="ink" if bold else "soft", **place)
        for lane in each.lanes:
            _draw_lane(sheet, lane, y - LANE / 2, day)
            y -= LANE
        y -= GAP
    _write_scale(sheet, dates, marked, day, max((x for x, _ in ends), default=day))
    return sheet.axes


def _names(each: Kinds) -> list[tuple[str, bool]]:
    """The kinds in bold, and the group below where there is a second lane for it."""
    room = max(len(each.lanes) - 1, 1)
    kinds = wrapped(", ".join(each.kinds), NAME, bold=True)
    if len(kinds) > room:
        kinds = wrapped(f"{each.kinds[0]} and {len(each.kinds) - 1:,} more", NAME, bold=True, most=room)
    group = [(fitted(each.group, NAME), False)] if len(each.lanes) > 1 and each.kinds != [each.group] else []
    return [*((line, True) for line in kinds), *group]


def _draw_lane(sheet: Sheet, lane: Lane, y: float, day: float) -> None:
    """One version: its phases, and its name after them."""
    for phase, start, end in lane.phases:
        look: dict[str, Any] = {"height": LANE * 0.78, "linewidth": 0}
        colour = sheet.colour(dict(PHASES).get(phase, "grey"))
        middle = min(max(start, day), end) if lane.until else end
        sheet.axes.barh(y, middle - start, left=start, color=colour, **look)
        sheet.axes.barh(y, end - middle, left=middle, facecolor="none", edgecolor=colour, hatch="////", **look)
    ground = {"boxstyle": "square,pad=0.1", "facecolor": sheet.figure.get_facecolor(), "edgecolor": "none"}
    sheet.text(lane.phases[-1][2], y, lane.text, shift=(5, 0), bbox=ground)


def _write_scale(sheet: Sheet, dates: Calendar, marked: list[tuple[float, str, str]], day: float, high: float) -> None:
    """Write releases above and years below, none over another, with lines at today and at releases."""
    (low, end), top = sheet.axes.get_xlim(), sheet.height - HEAD
    taken: dict[float, list[tuple[float, float]]] = {top + HEAD / 2: [], -0.2: []}

    def write(y: float, x: float, text: str, side: str = "center", **look: Any) -> None:
        width = (inches(text, bold="bold" in look) + 0.1) * (end - low) / sheet.width
        start = x - width * {"left": 0, "center": 0.5, "right": 1}[side]
        if all(start + width < other or last < start for other, last in taken[y]):
            taken[y].append((start, start + width))
            sheet.text(x, y, text, ha=side, **look)

    for x, text, side in marked:
        write(top + HEAD / 2, x, text, side, bold=True)
        sheet.axes.plot([x, x], [0, top], color=sheet.colour("ink"), linewidth=1.4, linestyle="--", zorder=0.5)
    if low <= day <= end:
        write(-0.2, day, "today", tone="bad", bold=True)
        sheet.axes.plot([day, day], [0, top], color=sheet.colour("bad"), linewidth=1.4, zorder=0.5)
    for release in map(dates.at, range(len(dates.releases) + 12)):
        if low <= _number(release.day) <= high:
            write(top + HEAD / 2, _number(release.day), release.name, tone="soft")
    for year in range(1980, 2100):
        if low <= _number(date(year, 1, 1)) <= high:
            write(-0.2, _number(date(year, 1, 1)), str(year), tone="soft")


def _folded(rows: pd.DataFrame, *, alphas: bool) -> list[Kinds]:
    """Kinds with their lanes; those of a group with the same lanes are together, unused alpha versions left out."""
    found: dict[tuple[str, tuple[Lane, ...]], list[str]] = {}
    alphas = alphas or set(rows["phase"]) <= {"alpha", "deprecated"}
    groups = rows["api_version"].str.rpartition("/")[0] if len(rows) else rows["api_version"]
    for (kind, group), some in rows.groupby(["kind", groups], sort=False):
        every = [_lane(str(version), phases) for version, phases in some.groupby("api_version", sort=False)]
        lanes = [lane for lane in every if lane.used or alphas or lane.phases[0][0] != "alpha"]
        if len(lanes) == 1 and group:
            lanes = [lanes[0]._replace(text=f"{group}/{lanes[0].text}")]
        found.setdefault((str(group), tuple(lanes)), []).append(str(kind or group))
    return [Kinds(*key, kinds) for key, kinds in found.items() if key[1]]


def _lane(api_version: str, phases: pd.DataFrame) -> Lane:
    counts = {what: phases[what].dropna().max() for what in ("objects", "callers") if phases[what].notna().any()}
    until = str(phases["until"].iloc[-1])
    usage = [counted(int(count), what[:-1]) for what, count in counts.items() if count]
    gone = [f"gone in {until}"] if until else []
    text = ", ".join([api_version.rpartition("/")[2], *gone, *usage])
    spans = tuple((str(row.phase), _number(row.start), _number(row.end)) for row in phases.itertuples())
    return Lane(spans, until, text, bool(usage))


def _chosen(every: Sequence[Kinds], dates: Calendar, most: int) -> list[Kinds]:
    """As many kinds as there is room for, in their order: first those with users, then those with late removals."""

    def late(place: int) -> tuple[bool, int]:
        removals = [dates.position(lane.until) for lane in every[place].lanes if lane.until]
        return any(lane.used for lane in every[place].lanes), max(removals, default=-1)

    kept = list[int]()
    for place in sorted(range(len(every)), key=late, reverse=True):
        if kept and sum(len(every[one].lanes) for one in (*kept, place)) > most:
            break
        kept.append(place)
    return [every[place] for place in sorted(kept)]


def _message(rows: pd.DataFrame, dates: Calendar, now: str, target: str) -> str:
    """What is gone, and what goes next."""
    untils = rows.groupby("lane", sort=False)["until"].last()
    ends = {lane: dates.position(until) for lane, until in untils.items() if until}
    here = dates.position(now) if now else len(dates.releases) - 1
    last = dates.position(target) if target else max(ends.values(), default=0)
    counts = rows[["objects", "callers"]]
    used = set(rows.loc[(counts.notna() & (counts != 0)).any(axis=1), "lane"])
    gone, soon = sum(end <= here for end in ends.values()), {lane for lane, end in ends.items() if here < end <= last}
    message = (
        f"{gone:,} of {counted(len(untils), 'version')} {'is' if gone == 1 else 'are'} gone at {dates.at(here).name}"
    )
    if not soon:
        return f"{message}, and no other has a planned end"
    return f"{message}; {len(soon):,} more by {dates.at(last).name}" + (
        f", {len(soon & used):,} in use" if used else ""
    )


def _number(day: Any) -> float:
    """A day or moment as a number on the axis."""
    return float(date2num(day))  # type: ignore[no-untyped-call]


VERDICTS: Final = {"yes": ("allowed", "vermilion"), "no": ("not allowed", "line"), "unknown": ("unknown", "yellow")}
"""The words and the colour of each verdict."""
_BAR, _GAP, _SCALE = 0.2, 0.16, 0.4
"""Inches of a bar, between two lanes, and of the moments under all of them."""
_LANE: Final = leading(TEXT) + _BAR + _GAP


def access_over_time(lanes: Mapping[str, pd.DataFrame], *, top: int = 9, ax: Axes | None = None) -> Axes:
    """The intervals in which permissions were held, a lane for each, with who granted each last.

    Parameters
    ----------
    lanes
        A table of ``since_when`` for each name of a lane, such as ``user:alice: get secrets``.
    top, ax
        How many lanes to show, those that were allowed for longest first, and axes to draw into; None: a figure of its
        own.
    """
    spans = {name: [_span(row) for row in rows.to_dict("records")] for name, rows in lanes.items()}
    held = {name: sum(end - start for start, end, verdict in one if verdict == "yes") for name, one in spans.items()}
    shown = sorted(lanes, key=lambda name: -held[name])[:top]
    left_out = len(lanes) - len(shown)
    more = f"; {counted(left_out, 'lane')} left out" if left_out else ""
    verdicts = {verdict for name in shown for _, _, verdict in spans[name]}
    key = [look for verdict, look in VERDICTS.items() if verdict in verdicts]
    body = max(_LANE * len(shown), _BAR)
    times = f"Times are UTC{more}"
    sheet = Sheet(ax, _held_message(lanes, spans, held), times, body=min(body, HIGH), below=_SCALE + EDGE, key=key)
    moments = [moment for name in shown for start, end, _ in spans[name] for moment in (start, end)]
    low, high = min(moments, default=0.0), max(moments, default=1.0)
    sheet.axes.set(xlim=(low, high if high > low else low + 1), ylim=(0, body), xticks=[], yticks=[])
    for place, name in enumerate(shown):
        y = body - _LANE * place
        _write_name(sheet, y - leading(TEXT) / 2, name, _note(lanes[name]))
        for start, end, verdict in spans[name]:
            look: dict[str, Any] = {"color": sheet.colour(VERDICTS[verdict][1]), "linewidth": 0, "height": _BAR}
            sheet.axes.barh(y - leading(TEXT) - _BAR / 2, end - start, left=start, **look)
    _write_moments(sheet, low, high)
    return sheet.axes


def _span(row: Mapping[Any, Any]) -> tuple[float, float, str]:
    return _number(row["from"]), _number(row["to"]), str(row["verdict"])


def _note(rows: pd.DataFrame) -> str:
    """Who granted it last, and when."""
    granted = rows[(rows["verdict"] == "yes") & (rows["changed_by"] != "")]
    if not len(granted):
        return ""
    last = granted.iloc[-1]
    return f"granted by {last['changed_by']} at {last['from']:%Y-%m-%d %H:%M} ({last['object']})"


def _write_name(sheet: Sheet, y: float, name: str, note: str) -> None:
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data")}
    short = fitted(name, ROOM / 2 if note else ROOM, bold=True)
    sheet.text(0, y, short, bold=True, **place)
    if note:
        beside = inches(short, bold=True) + 0.15
        sheet.text(0, y, fitted(note, ROOM - beside), tone="soft", shift=(72 * beside * sheet.scale, 0), **place)


def _write_moments(sheet: Sheet, low: float, high: float) -> None:
    """Write moments under the lanes, none over another and none beyond the edges."""
    form = "%Y-%m-%d" if high - low > 4 else "%Y-%m-%d %H:%M"
    half = inches("2026-03-03 00:00") / 2 / sheet.width * (high - low)
    after = -float("inf")
    for moment in AutoDateLocator(minticks=3, maxticks=6).tick_values(num2date(low), num2date(high)):  # type: ignore[no-untyped-call]
        if low <= moment - half and moment + half <= high and moment - half > after:
            sheet.text(moment, 0, f"{num2date(moment):{form}}", shift=(0, -72 * _SCALE / 2), tone="soft", ha="center")  # type: ignore[no-untyped-call]
            sheet.axes.plot([moment, moment], [0, _GAP / 2], color=sheet.colour("soft"), linewidth=1)
            after = moment + half


def _held_message(
    lanes: Mapping[str, pd.DataFrame], spans: Mapping[str, list[tuple[float, float, str]]], held: Mapping[str, float]
) -> str:
    """What was held, by how many, and whether it still is."""
    if not any(held.values()):
        known = not any(verdict == "unknown" for one in spans.values() for _, _, verdict in one)
        return "None of the permissions was held" + ("" if known else " at a time that is known")
    now = [name for name in lanes if spans[name] and spans[name][-1][2] == "yes"]
    ever = sum(value > 0 for value in held.values())
    if len(lanes) > 1:
        return f"{ever:,} of {counted(len(lanes), 'permission')} were held at some time, {len(now):,} at the end"
    [(name, one)] = spans.items()
    share = held[name] / ((one[-1][1] - one[0][0]) or 1)
    return f"{name} was allowed for {share:.0%} of the time" + (", and still is at the end" if now else "")
