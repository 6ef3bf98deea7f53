"""Permissions over time: a lane for each, with the intervals in which it was allowed, not allowed or unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matplotlib.dates import AutoDateLocator, date2num, num2date

from simkit.analysis.plots.style import EDGE, HIGH, ROOM, TEXT, Sheet, fitted, inches, leading
from simkit.analysis.rendering import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes

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
    sheet = Sheet(ax, _message(lanes, spans, held), times, body=min(body, HIGH), below=_SCALE + EDGE, key=key)
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


def _number(moment: Any) -> float:
    return float(date2num(moment))  # type: ignore[no-untyped-call]


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


def _message(
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
