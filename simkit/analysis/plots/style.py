"""The look of all pictures: sizes, colours on light and dark paper, measured texts, the message above, bars in rows."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import matplotlib
from matplotlib import rcParams, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from simkit.meta.errors import SimkitError
from simkit.present.colours import TOKENS
from simkit.present.escaping import figure_text

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from os import PathLike
    from typing import IO


HIGH: Final = 5.4
EDGE: Final = 0.3
ROOM: Final = 9.0
"""Inches of a slide: its height, its edges, and its width between these. Shown 800 pixels wide, the smallest letters
are 13 pixels high."""
TITLE: Final = 15.0
TEXT: Final = 11.0
"""Points of the message, and of everything else."""
_WANTED: Final = ("Inter", "Source Sans 3", "Helvetica Neue", "Segoe UI", "Arial", "Liberation Sans")
_INSTALLED: Final = {font.name for font in fontManager.ttflist}
_FONTS: Final = [*[name for name in _WANTED if name in _INSTALLED][:1], "DejaVu Sans"]
_RENDERER: Final[Any] = RendererAgg(1, 1, 144)  # type: ignore[no-untyped-call]
_BREAK: Final = re.compile(r"(?<=[-/:.@_])(?=\S)")


def theme(name: Literal["light", "dark"]) -> AbstractContextManager[None]:
    """Draw on light or on dark paper, in a ``with`` block.

    Pictures follow their paper, so that styles of matplotlib such as ``dark_background`` have the same effect.

    Examples
    --------
    >>> import simkit
    >>> with theme("dark"):
    ...     axes = simkit.Cluster(seed=1).findings().plot()
    """
    if name not in ("light", "dark"):
        raise SimkitError(f"there is no theme {name!r}; the themes are light and dark")
    return matplotlib.rc_context({"figure.facecolor": TOKENS["paper"][name == "dark"], "savefig.facecolor": "auto"})


class NotebookAxes(Axes):
    """Axes that a notebook shows as the picture of their figure, without any magic, when a cell ends with them."""

    def savefig(self, target: str | PathLike[str] | IO[bytes], **options: Any) -> None:
        """Save the picture of their figure, as ``figure.savefig`` does."""
        _figure_of(self).savefig(target, **options)

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


def _figure_of(axes: Axes) -> Figure:
    whole = axes.get_figure(root=True)
    assert whole is not None, "these axes are in no figure"
    return whole


class Sheet:
    """Axes with a message above them: in a figure of its own, or those that are given.

    Its body is measured in inches. Axes that are given have another size, and smaller texts where they are smaller.
    """

    def __init__(
        self, ax: Axes | None, message: str, subtitle: str, *, body: float, wide: float = ROOM, left: float = 0.0,
        below: float = 0.0, key: Sequence[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        self.width, self.height, self.scale = wide - left, body, 1.0
        heading, under = wrapped(message, wide, TITLE, bold=True), wrapped(subtitle, wide)
        top = EDGE + len(heading) * leading(TITLE) + len(under) * leading(TEXT)
        high, page = top + (0.38 if key else 0.14) + body + (below or EDGE), wide + 2 * EDGE
        if ax is None:
            self.figure = Figure(figsize=(page, high), dpi=120)
            FigureCanvasAgg(self.figure)
            box = (EDGE + left) / page, (below or EDGE) / high, self.width / page, body / high
            self.axes: Axes = self.figure.add_axes(NotebookAxes(self.figure, box))
            look: dict[str, Any] = {"x": EDGE / page, "ha": "left", "va": "top", "family": fonts(), "linespacing": 1.25}
            title = self.figure.suptitle(_shown(heading), y=1 - 0.24 / high, size=TITLE, weight="bold", **look)
            title.set_color(self.colour("ink"))
            y = 1 - (0.28 + len(heading) * leading(TITLE)) / high
            self.figure.text(y=y, s=_shown(under), size=TEXT, color=self.colour("soft"), **look)
            place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (EDGE / page, 1 - (top + 0.02) / high)}
        else:
            self.figure, self.axes = _figure_of(ax), ax
            shown = ax.get_window_extent().transformed(self.figure.dpi_scale_trans.inverted())
            self.scale = min(1.0, shown.width / self.width, shown.height / body)
            look = {"size": TEXT * self.scale, "color": self.colour("ink"), "fontfamily": fonts()}
            ax.set_title(_shown([*heading, *under]), loc="left", pad=26 * self.scale if key else 6, **look)
            place = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
        self.axes.set_facecolor("none")
        ticks: dict[str, Any] = {"length": 0, "labelcolor": self.colour("soft"), "labelfontfamily": fonts()}
        self.axes.tick_params(labelsize=TEXT * self.scale, **ticks)
        self.axes.spines[:].set_visible(False)
        if key:
            self._key(key, self.figure if ax is None else ax, place)

    def _key(self, key: Sequence[tuple[str, str]], where: Figure | Axes, place: dict[str, Any]) -> None:
        """Say what the colours mean, in a line under the heading."""
        marks = [Patch(facecolor=self.colour(tone), label=figure_text(text)) for text, tone in key]
        look: dict[str, Any] = {"frameon": False, "labelcolor": self.colour("ink"), "handletextpad": 0.5, **place}
        look |= {"borderpad": 0, "borderaxespad": 0, "handlelength": 0.9, "handleheight": 0.9, "columnspacing": 1.5}
        letters = FontProperties(family=fonts(), size=TEXT * self.scale)
        where.legend(handles=marks, ncols=len(marks), prop=letters, **look)

    def colour(self, name: str) -> str:
        """A colour by its name, as it is on this paper."""
        red, green, blue, opaque = to_rgba(self.figure.get_facecolor())
        return TOKENS[name][opaque > 0 and 0.3 * red + 0.6 * green + 0.1 * blue < 0.5]

    def text(self, x: float, y: float, text: str | Sequence[str], *, shift: tuple[float, float] = (0, 0),
             tone: str = "ink", bold: bool = False, **more: Any) -> None:  # fmt: skip
        """Write a line around a height, or several lines; ``shift`` is in points."""
        lines = [text] if isinstance(text, str) else text
        look: dict[str, Any] = {"fontsize": TEXT * self.scale, "fontfamily": fonts(), "linespacing": 1.25}
        look |= {"va": "center", "color": self.colour(tone), "fontweight": "bold" if bold else "normal"}
        if len(lines) == 1 and not {"va", "rotation"} & set(more):
            look["va"], shift = "baseline", (shift[0], shift[1] - 0.36 * TEXT * self.scale)
        look |= {"xytext": shift, "textcoords": "offset points", "annotation_clip": False}
        self.axes.annotate(_shown(lines), (x, y), **look | more)

    def in_inches(self) -> None:
        """Count the places in the axes in inches from the lower left corner, and draw no axes."""
        self.axes.set_axis_off()
        self.axes.set(xlim=(0, self.width), ylim=(0, self.height))


def _shown(lines: Sequence[str]) -> str:
    return "\n".join(map(figure_text, lines))


def leading(points: float) -> float:
    """Inches from one line of text to the next."""
    return points * 1.3 / 72


def fonts() -> list[str]:
    """The user's fonts, or else the first of ours that is installed; DejaVu Sans has the letters that others lack."""
    if any(rcParams[name] != rcParamsDefault[name] for name in ("font.family", "font.sans-serif")):
        return list(rcParams["font.family"])
    return _FONTS


def inches(text: str, size: float = TEXT, *, bold: bool = False) -> float:
    """The width of a text."""
    return _measured(text, size, bold, tuple(fonts()))


@lru_cache(maxsize=10_000)
def _measured(text: str, size: float, bold: bool, families: tuple[str, ...]) -> float:
    letters = FontProperties(family=list(families), size=size, weight="bold" if bold else "normal")
    width: float = _RENDERER.get_text_width_height_descent(figure_text(text), letters, ismath=False)[0]
    return 1.06 * width / 144  # letters of small pictures are drawn on whole pixels, and wider


def wrapped(text: str, room: float, size: float = TEXT, *, bold: bool = False, most: int = 9) -> list[str]:
    """A text in lines that fit into some inches; it ends with an ellipsis where it takes more lines than wanted."""
    lines = [""]
    for word in re.split(r"(?<= )", text):
        for piece in _BREAK.split(word) if inches(word, size, bold=bold) > room else [word]:
            if lines[-1] and inches((lines[-1] + piece).rstrip(), size, bold=bold) > room:
                lines.append("")
            lines[-1] += piece
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1]}…"]
    return [fitted(line.rstrip(), room, size, bold=bold) for line in lines]


def fitted(text: str, room: float, size: float = TEXT, *, bold: bool = False) -> str:
    """A text that fits into some inches: a name that is too long has an ellipsis in its middle."""
    for keep in range(min(len(text), 200), 1, -1):
        short = text if keep == len(text) else f"{text[: keep // 2]}…{text[len(text) - (keep - 1) // 2 :]}"
        if inches(short, size, bold=bold) <= room:
            return short
    return text[:1]


def listed(names: Sequence[str], room: float) -> str:
    """As many names as fit into some inches, and the number of the others."""
    for shown in range(min(len(names), 12), 0, -1):
        text = ", ".join(names[:shown]) + (f" and {len(names) - shown:,} more" if shown < len(names) else "")
        if inches(text) <= room:
            return text
    return f"{len(names):,}" if len(names) > 1 else fitted(names[0], room)


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
    """Rows from the top; ``key`` has the words and the colour of each part, of which those that are drawn are told.

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
    told = [look for part, look in enumerate(key) if any(row.parts[part] for row in rows)]
    sheet = Sheet(ax, message, subtitle, body=body, left=0 if above else beside, below=AXIS, key=told)
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
