"""A panel in a notebook: its widget, and beside it a picture in HTML that follows what the panel shows.

Front ends keep the outputs of a cell in the notebook, but the state of widgets only where a setting says so. A notebook
that is opened without its kernel would show no panel. So the cell has a second output, the picture. The panel hides it
by a style of its own as long as it lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import ipywidgets as widgets
from IPython import display as front_end

if TYPE_CHECKING:
    from simkit.notebook.sections import PanelBox

_HTML: Final = "text/html"
_TEXT: Final = "text/plain"
_REST: Final = 0.8
"""Seconds without a change after which the picture is drawn again."""
_HIDDEN: Final = "<style>.{name}, .jp-OutputArea-child:has(.{name}) {{ display: none }}</style>"


class PanelDisplay:
    """Shows one panel as the output of a cell, and keeps its picture up to date.

    Parameters
    ----------
    panel
        The panel. It gets one more child: the style that hides the picture.
    """

    def __init__(self, panel: PanelBox) -> None:
        self._panel = panel
        self._name = f"sk-picture-{panel.model_id}"
        self._drawn = ""
        self._timer: asyncio.TimerHandle | None = None
        panel.children = (*panel.children, _Style(_HIDDEN.format(name=self._name)))
        show: Any = front_end.display  # it has no types
        show({**panel.widget_bundle(), _TEXT: ""}, raw=True)
        self._picture = show({_HTML: self._draw(), _TEXT: ""}, raw=True, display_id=True)
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # no page is behind this shell, so nobody changes the panel
        for each in models_of(panel):
            each.observe(self._changed)

    def _draw(self) -> str:
        self._drawn = self._panel.static_html()
        return f'<div class="{self._name}">{self._drawn}</div>'

    def _changed(self, _: Any) -> None:
        """Plan a new picture; changes come from the page and from the thread that does the panel's work."""
        self._loop.call_soon_threadsafe(self._plan)

    def _plan(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(_REST, self._redraw)

    def _redraw(self) -> None:
        before, picture = self._drawn, self._draw()
        if self._drawn != before and self._picture is not None:
            self._picture.update({_HTML: picture, _TEXT: ""}, raw=True)


class _Style(widgets.HTML):  # type: ignore[misc]
    """A style of the page, which is no part of the picture."""

    def static_html(self) -> str:
        return ""


def models_of(widget: widgets.Widget) -> Iterator[widgets.Widget]:
    """A widget and all widgets that it consists of: children, layouts and styles, each once."""
    seen: set[str] = set()
    waiting = [widget]
    while waiting:
        each = waiting.pop()
        if each.model_id in seen:
            continue
        seen.add(each.model_id)
        yield each
        values = [getattr(each, name) for name in each.keys]
        parts = [part for value in values for part in (value if isinstance(value, list | tuple) else (value,))]
        waiting += [part for part in parts if isinstance(part, widgets.Widget)]
