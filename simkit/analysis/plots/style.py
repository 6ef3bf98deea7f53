"""Colours of severities, and paper of all figures."""

from __future__ import annotations

import io
from collections.abc import Mapping
from os import PathLike
from typing import IO, Any, Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from simkit.present.colours import GREY, ORANGE, SKY, VERMILION
from simkit.present.escaping import figure_text

INK: Final = "#222222"

SEVERITY_COLOURS: Final[Mapping[str, str]] = {
    "critical": "#7A2E00",
    "high": VERMILION,
    "medium": ORANGE,
    "low": SKY,
    "info": GREY,
}


class NotebookFigure(Figure):
    """A figure that a notebook shows as a picture, with or without ``%matplotlib inline``.

    Without that magic, IPython knows no picture of a matplotlib figure and shows its text.
    """

    def _repr_png_(self) -> bytes:
        """The picture for IPython; with the magic, IPython asks its own formatter instead."""
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


class NotebookAxes(Axes):
    """Axes that a notebook shows as the picture of their figure, when they are what a cell ends with."""

    def savefig(self, target: str | PathLike[str] | IO[bytes], **options: Any) -> None:
        """Save the picture of their figure, as ``figure.savefig`` does."""
        whole = self.get_figure(root=True)
        assert whole is not None, "these axes are in no figure"
        whole.savefig(target, **options)

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        whole = self.get_figure(root=True)
        assert whole is not None, "these axes are in no figure"
        whole.savefig(picture, format="png")
        return picture.getvalue()


def figure(width: float, height: float, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """The figure of some axes; without axes an empty figure of a size in inches, with one axes.

    It is drawn by Agg whatever the session's backend is.
    """
    if ax is None:
        made: Figure = NotebookFigure(figsize=(width, height), layout="constrained", dpi=110)
        FigureCanvasAgg(made)
        axes = made.add_subplot(axes_class=NotebookAxes)
    else:
        whole = ax.get_figure(root=True)
        assert whole is not None, "these axes are in no figure"
        made, axes = whole, ax
    axes.tick_params(labelsize=8, colors=INK, length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return made, axes


def title(axes: Axes, text: str) -> None:
    """Set the figure's heading, at the left."""
    axes.set_title(text, loc="left", fontsize=11, color=INK)


def shortened(text: str, width: int = 48) -> str:
    """A label for a figure, shortened in its middle so that both ends can be read.

    Examples
    --------
    >>> shortened("ClusterRole system:controller:generic-garbage-collector", 21)
    'ClusterRol…-collector'
    """
    if len(text) > width:
        half = (width - 1) // 2
        text = f"{text[: width - 1 - half]}…{text[-half:]}"
    return figure_text(text)
