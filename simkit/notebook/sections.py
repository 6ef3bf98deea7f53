"""Parts of a panel of which one is shown at a time, its work in a thread, and its HTML without a kernel."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import anywidget
import ipywidgets as widgets

from simkit.meta.errors import PlainError, SimkitError, StatusError
from simkit.meta.visible_text import html_text
from simkit.meta.warning import warnings_heard_by
from simkit.notebook.pages import STATIC
from simkit.present.colours import VERMILION
from simkit.present.progress import Task, shown_by

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


T = TypeVar("T")
_REFUSED: Final = f'<b style="color:{VERMILION}" role="alert">{{}}</b>'
_DOUBTED: Final = '<b role="status">{}</b>'


class Background(widgets.HBox):  # type: ignore[misc]
    """A line that runs work in the background and tells how far it is, or why it failed.

    Work is done in order, one piece after the other. The latest question wins: earlier ones that have not begun are
    dropped, and so is what they found. ``wait`` is for programs and tests.
    """

    def __init__(self) -> None:
        self.told = widgets.HTML()
        self.bar = widgets.IntProgress(min=0, max=1, layout=widgets.Layout(width="16em", visibility="hidden"))
        super().__init__([self.told, self.bar])
        self._latest = 0
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="simkit-panel")
        self._lock = threading.Condition()
        self._pending = 0

    def run(
        self,
        text: str,
        work: Callable[[], T],
        then: Callable[[T], None],
        *,
        always: bool = False,
        failed: Callable[[], None] | None = None,
    ) -> None:
        """Do some work in a thread, then hand what it found to a function.

        Errors of users are told in the line, and so are doubts about what they asked, such as an unknown namespace.

        Parameters
        ----------
        text
            The work, in words, for as long as it lasts.
        always
            For work that has effects: it is done even if something else is asked meanwhile.
        failed
            Called after an error, such as to take away what answered the question before.
        """
        with self._lock:
            self._latest += 1
            self._pending += 1
            mine = self._latest
        self.tell(f"{text} …")
        self.bar.layout.visibility = "visible"
        self.bar.value, self.bar.max = 0, 1
        if sys.platform == "emscripten":  # a browser's Python has no threads
            self._work(mine, work, then, always, failed)
        else:
            self._worker.submit(self._work, mine, work, then, always, failed)

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until the work is done, and what followed from it."""
        with self._lock:
            self._lock.wait_for(lambda: not self._pending, seconds)

    def tell(self, text: str) -> None:
        """Show a text."""
        self.told.value = html_text(text)

    def tell_error(self, error: Exception) -> None:
        """Show an error of the user."""
        self.told.value = _REFUSED.format(html_text(str(error)))

    def _tell_doubts(self, doubts: Sequence[Warning]) -> None:
        """Add doubts about the question to what is told, each once."""
        lines = (_DOUBTED.format(html_text(text)) for text in dict.fromkeys(map(str, doubts)))
        self.told.value = "<br>".join(filter(None, [self.told.value, *lines]))

    def _work(
        self,
        mine: int,
        work: Callable[[], T],
        then: Callable[[T], None],
        always: bool,
        failed: Callable[[], None] | None,
    ) -> None:
        doubts: list[Warning] = []
        try:
            if not always and not self.is_latest(mine):
                return
            with shown_by(_Line(self, mine)), warnings_heard_by(doubts.append):
                found = work()
            if self.is_latest(mine):
                self.told.value = ""
                then(found)
                self._tell_doubts(doubts)
        except (SimkitError, StatusError, PlainError) as error:
            if self.is_latest(mine):
                self.tell_error(error)
                if failed is not None:
                    failed()
        finally:
            if self.is_latest(mine):
                self.bar.layout.visibility = "hidden"
            with self._lock:
                self._pending -= 1
                self._lock.notify_all()

    def is_latest(self, mine: int) -> bool:
        """True if nothing was asked after the work of this number."""
        with self._lock:
            return mine == self._latest


class _Line:
    """The progress of one piece of work, in the line of its panel."""

    def __init__(self, line: Background, mine: int) -> None:
        self._line, self._mine = line, mine

    def show(self, task: Task) -> None:
        if not self._line.is_latest(self._mine):
            return
        total = task.total or 0
        self._line.bar.max, self._line.bar.value = max(total, 1), min(task.done, total)
        self._line.tell(f"{task.text} {task.done:,} of {total:,}" if total else f"{task.text} {task.done:,}")

    def remove(self, task: Task) -> None:
        """The next task takes its room."""

    def close(self) -> None:
        """The line stays."""
