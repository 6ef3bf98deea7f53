"""What is written in a picture, and where: for tests that look at pictures as a reader does."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from matplotlib.text import Text
from matplotlib.transforms import Bbox

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALLEST = 11
"""Points of text that can be read when a picture is shown 800 pixels wide."""


def whole(axes: Axes) -> Figure:
    """The figure of some axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def message(axes: Axes) -> str:
    """What a picture says above, in one line."""
    return whole(axes).get_suptitle().replace("\n", " ")


def texts(axes: Axes) -> str:
    """All that is written in a picture."""
    return " ".join(text.get_text().replace("\n", " ") for text in _written(whole(axes)))


def _written(figure: Figure) -> list[Text]:
    found = [artist for artist in figure.findobj(Text) if isinstance(artist, Text)]
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def assert_readable(axes: Axes) -> None:
    """Every text is large enough and on the paper, and none is written over another; the picture is as wide as a page."""
    figure = whole(axes)
    figure.set_dpi(800 / figure.get_figwidth())
    figure.draw_without_rendering()
    written = _written(figure)
    assert min(float(text.get_fontsize()) for text in written) >= SMALLEST
    assert figure.get_figwidth() <= 9.7
    assert figure.get_figheight() < 9, message(axes)
    boxes = [(text.get_text(), Bbox.from_bounds(*_inner(text))) for text in written if not text.get_rotation()]
    for text, box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text
    over = [(one, two) for (one, here), (two, there) in combinations(boxes, 2) if here.overlaps(there)]
    assert not over


def _inner(text: Text) -> tuple[float, float, float, float]:
    """The place of a text without a pixel of its edges."""
    box = Text.get_window_extent(text)
    return box.x0 + 1, box.y0 + 1, max(box.width - 2, 0), max(box.height - 2, 0)
