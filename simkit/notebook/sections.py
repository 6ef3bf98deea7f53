"""Parts of a panel of which one is shown at a time, and what readers without a kernel see of a panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import anywidget
import ipywidgets as widgets

from simkit.meta.visible_text import html_text
from simkit.notebook.background import Background
from simkit.notebook.pages import STATIC

_HTML: Final = "text/html"
_FIRST_LOOK: Final = 1.0
"""Seconds that a panel has to find its first lists before its HTML is written into the notebook."""


class Sections(widgets.VBox):  # type: ignore[misc]
    """Buttons of which one is pressed, and below them its section. Tab reaches the buttons, Enter presses one."""

    def __init__(self, sections: Mapping[str, widgets.Widget]) -> None:
        self._sections = dict(sections)
        self.chooser = widgets.ToggleButtons(
            options=list(self._sections), style=widgets.ToggleButtonsStyle(button_width="auto")
        )
        super().__init__([self.chooser, *self._sections.values()])
        self.chooser.observe(lambda _: self._show(), "value")
        self._show()

    def _show(self) -> None:
        for name, section in self._sections.items():
            section.layout.display = None if name == self.chooser.value else "none"


class PanelFocus(anywidget.AnyWidget):
    """Keeps the focus of the keyboard in the panel that it is a part of; it shows nothing."""

    _esm = STATIC / "panel_focus.js"


class PanelBox(widgets.VBox):  # type: ignore[misc]
    """A panel that also has HTML for readers without a kernel, such as exports, code hosts and printers."""

    title = "panel"
    work: Background
    """The line that runs its work."""

    def __init__(self, children: Sequence[widgets.Widget]) -> None:
        super().__init__([*children, PanelFocus()])
        self.add_class("sk-panel")  # the styles of its tables show the focus of its other controls too

    def wait(self) -> None:
        """Wait until the work of the panel is done; for programs and tests."""
        self.work.wait()

    def static_html(self) -> str:
        """The panel as it stands, as a page without controls."""
        return f"<p><b>{html_text(self.title)}</b></p>{''.join(_parts(self))}"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        self.work.wait(_FIRST_LOOK)
        found = super()._repr_mimebundle_(**options)
        return {**(found[0] if isinstance(found, tuple) else found or {}), _HTML: self.static_html()}


def _parts(widget: Any) -> list[str]:
    """The HTML of what a widget holds: tables, texts, and fields with a value."""
    if hasattr(widget, "layout") and widget.layout is not None and widget.layout.display == "none":
        return []
    if not isinstance(widget, widgets.VBox | widgets.HBox):
        return [_part(widget)]
    return [part for child in widget.children for part in _parts(child)]


def _part(widget: Any) -> str:
    if hasattr(widget, "static_html"):
        return str(widget.static_html())
    if isinstance(widget, widgets.HTML):
        return str(widget.value)
    value = getattr(widget, "value", "")
    if isinstance(value, str) and value and getattr(widget, "description", ""):
        return f"<p>{html_text(widget.description)}: <code>{html_text(value)}</code></p>"
    return ""
