"""Bars in rows, each with its name and a note: the form of most pictures."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from matplotlib.ticker import MaxNLocator

from simkit.analysis.plots.style import HIGH, ROOM, TEXT, Sheet, inches, leading, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

BESIDE: Final = 0.38
"""The share of the width that names may take beside the bars; longer ones stand above them."""
AXIS: Final = 0.72
"""Inches of the numbers and the unit under the bars."""
GAP, BAR, PITCH = 0.1, 0.16, 0.25
"""Inches between names and bars, of a bar, and from one to the next, where there are many."""


class Row(NamedTuple):
    """A bar of several parts, and a note at its end; by default, its length."""

    name: str
    parts: Sequence[float]
    note: str = ""


def draw_rows(
    ax: Axes | None, message: str, subtitle: str, rows: Sequence[Row], key: Sequence[tuple[str, str]], unit: str
) -> Axes:
    """Rows from the top; ``key`` has the words and the colour of each part.

    Names stand beside the bars where all are short, and otherwise above them in two lines at most. Heights are in
    inches.
    """
    beside = max((inches(row.name) for row in rows), default=0) + GAP
    above = beside > BESIDE * ROOM
    names = [wrapped(row.name, ROOM, most=2) if above else [row.name] for row in rows]
    spread = 1.0 if above else min(max((HIGH - 1.9) / (len(rows) or 1) / PITCH, 1.0), 1.6)
    heights = [PITCH * spread + (len(lines) * leading(TEXT) if above else 0) for lines in names]
    body = max(sum(heights), PITCH)
    bars = [body - end + (0.145 if above else PITCH * spread / 2) for end in accumulate(heights)]
    sheet = Sheet(ax, message, subtitle, body=body, left=0 if above else beside, below=AXIS, key=key)
    ends = [0.0] * len(rows)
    for part, (_, tone) in enumerate(key):
        look: dict[str, Any] = {"height": BAR * spread, "color": sheet.colour(tone), "linewidth": 0}
        sheet.axes.barh(bars, [row.parts[part] for row in rows], left=ends, **look)
        ends = [end + row.parts[part] for end, row in zip(ends, rows)]
    notes = [row.note or f"{sum(row.parts):,}" for row in rows]
    for y, end, note in zip(bars, ends, notes):
        sheet.text(end, y, note, shift=(4, 0), tone="soft")
    high = max(ends, default=0) or 1
    widest = max(map(inches, notes), default=0) + 0.12
    sheet.axes.set(xlim=(0, high / (1 - widest / sheet.width)), ylim=(0, body), yticks=[])
    sheet.axes.set_xticks([tick for tick in MaxNLocator(5, integer=True).tick_values(0, high) if 0 <= tick <= high])
    sheet.axes.xaxis.set_major_formatter("{x:,.0f}")
    sheet.text(0, 0, unit, shift=(0, -72 * 0.37), tone="soft")
    place: dict[str, Any] = {"shift": (-72 * GAP, 0), "ha": "right"}
    if above:
        place = {"shift": (0, 36 * BAR + 1), "ha": "left", "va": "bottom"}
    for y, lines in zip(bars, names):
        sheet.text(0, y, lines, xycoords=("axes fraction", "data"), **place)
    if not above:
        sheet.axes.axvline(0, color=sheet.colour("soft"), linewidth=1)
        sheet.axes.grid(axis="x", color=sheet.colour("line"), linewidth=0.8)
        sheet.axes.set_axisbelow(True)
    return sheet.axes
