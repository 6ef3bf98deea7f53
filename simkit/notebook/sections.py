"""Panels: one widget that draws all of a panel's parts, and the line that runs its work in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import anywidget
import ipywidgets
import traitlets

from simkit.meta.errors import PlainError, SimkitError, StatusError
from simkit.meta.threads import HAS_THREADS
from simkit.meta.visible_text import html_text
from simkit.meta.warning import warnings_heard_by
from simkit.notebook.parts import Box, Part, Progress, Text
from simkit.present.colours import VERMILION
from simkit.present.design import stylesheet
from simkit.present.path_graph import elements_script
from simkit.present.progress import Task, shown_by

_HTML: Final = "text/html"
_STATIC: Final = Path(__file__).parent / "static"
_FIRST_LOOK: Final = 1.0
"""Seconds that a panel has to find its first lists before its HTML is written into the notebook."""


def panel_script(before: str) -> str:
    """The module that draws panels, after the script of elements or of the graph; it needs no other file."""
    return before + "".join((_STATIC / name).read_text(encoding="utf-8") for name in ("row_table.js", "panel.js"))


def panel_styles(before: str) -> str:
    """The style sheet of panels, after the shared one or that of the graph."""
    return before + (_STATIC / "panel.css").read_text(encoding="utf-8")


class PanelBox(anywidget.AnyWidget):
    """A panel: one widget that draws its parts, with HTML for readers without a kernel, such as exports."""

    _esm = panel_script(elements_script())
    _css = panel_styles(stylesheet())
    children: Any = traitlets.Tuple().tag(sync=True, **ipywidgets.widget_serialization)
    title = "panel"
    work: Background
    """The line that runs its work."""

    def __init__(self, *children: Part) -> None:
        super().__init__(children=children)

    def wait(self) -> None:
        """Wait until the work of the panel is done; for programs and tests."""
        self.work.wait()

    def static_html(self) -> str:
        """The panel as it stands, as a page without controls."""
        return f"<p><b>{html_text(self.title)}</b></p>{''.join(part.static_html() for part in self.children)}"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:  # type: ignore[override]
        self.work.wait(_FIRST_LOOK)
        found = super()._repr_mimebundle_(**options)
        return {**(found[0] if isinstance(found, tuple) else found or {}), _HTML: self.static_html()}


T = TypeVar("T")
_REFUSED: Final = f'<b style="color:{VERMILION}" role="alert">{{}}</b>'
_DOUBTED: Final = '<b role="status">{}</b>'


class Background(Box):
    """A line that runs work in the background and tells how far it is, or why it failed.

    Work is done in order, one piece after the other. The latest question wins: earlier ones that have not begun are
    dropped, and so is what they found. ``wait`` is for programs and tests.
    """

    def __init__(self) -> None:
        self.told, self.bar = Text(), Progress()
        super().__init__([self.told, self.bar], "sk-row")
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
        self.bar.hidden = False
        self.bar.value, self.bar.max = 0, 1
        if HAS_THREADS:
            self._worker.submit(self._work, mine, work, then, always, failed)
        else:
            self._work(mine, work, then, always, failed)

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
                self.bar.hidden = True
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
