"""Progress of what takes a while, where somebody may be watching: on a terminal or in a notebook.

Nothing is shown, and no library that draws is imported, before somebody has waited for two seconds; nothing at all
where standard error is a file or a pipe, or after ``silence``. What is shown goes away at the end.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeVar

from simkit.meta.threads import HAS_THREADS

PATIENCE: Final = 2.0
"""Seconds before something is shown."""
_BREATH: Final = 0.1
"""Seconds between two changes of what is shown."""
_BEAT: Final = 1.0
"""Seconds after which a terminal shows the time that has passed, where nothing else changes."""
_OF_KNOWN: Final = "{desc} {n_fmt}/{total_fmt}{unit} {bar:24} {elapsed}"
_OF_COUNTED: Final = "{desc} {n_fmt}{unit} {elapsed}"
_OF_UNKNOWN: Final = "{desc} {elapsed}"
T = TypeVar("T")


class Display(Protocol):
    """The display of tasks: a terminal, or the output of a notebook's cell."""

    def show(self, task: Task) -> None:
        """Show the task as it is now."""
        ...

    def remove(self, task: Task) -> None:
        """Show it no longer."""
        ...

    def close(self) -> None:
        """Remove everything."""
        ...


class Task:
    """Something that is under way: what it is, how much of it is done, and how much there is if that is known."""

    def __init__(self, text: str, total: int | None, unit: str, watch: _Watch) -> None:
        self.text, self.total, self.unit = text, total, unit
        self.done = 0
        self.started = time.monotonic()
        self._watch = watch

    def advance(self, amount: int = 1) -> None:
        """Count so much more as done."""
        self.done += amount
        self._watch.tick(self)


@contextmanager
def task(text: str, total: int | None = None, *, unit: str = "") -> Iterator[Task]:
    """A task for as long as the context lasts; within another it is shown below that one.

    Parameters
    ----------
    total
        How much there is to do; None where nobody knows.
    unit
        ``B`` for bytes; empty for things that are counted.

    Examples
    --------
    >>> with task("counting", total=3) as counting:
    ...     counting.advance(3)
    """
    watch = _OWN.get() or _WATCH
    made = Task(text, total, unit, watch)
    watch.begin(made)
    try:
        yield made
    finally:
        watch.end(made)


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    """Show the tasks of this thread by a display of one's own, at once, as long as the context lasts."""
    watch = _Watch(display)
    before = _OWN.set(watch)
    try:
        yield
    finally:
        _OWN.reset(before)
        watch.close()


def tracked(items: Iterable[T], text: str, *, total: int | None = None) -> Iterator[T]:
    """The items, one after the other, as a task that counts them.

    Examples
    --------
    >>> list(tracked([1, 2], "counting"))
    [1, 2]
    """
    known = len(items) if total is None and isinstance(items, Collection) else total
    with task(text, known) as under_way:
        for item in items:
            yield item
            under_way.advance()


def silence(silent: bool = True) -> None:
    """Show no progress from here on, or show it again."""
    _WATCH.silent = silent
    if silent:
        _WATCH.clear()


def clear() -> None:
    """Take what is shown off the screen, because something else is written now."""
    _WATCH.clear()


@contextmanager
def without_threads() -> Iterator[None]:
    """Take what is shown away, with the threads that show it, as long as the context lasts: a fork copies none."""
    _WATCH.pause()
    try:
        yield
    finally:
        _WATCH.resume()


class _Watch:
    """The tasks that are under way, and what shows them once somebody has waited for long enough.

    A display that is given shows them at once, and is kept until the end.
    """

    def __init__(self, display: Display | None = None) -> None:
        self.silent = False
        self._tasks: list[Task] = []
        self._given = display
        self._display: Display | None = display
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()
        self._due = 0.0

    def begin(self, task: Task) -> None:
        with self._lock:
            self._tasks.append(task)
            if len(self._tasks) == 1 and self._given is None:
                self._wait()
            elif self._display is not None:
                self._display.show(task)

    def tick(self, task: Task) -> None:
        now = time.monotonic()
        if now < self._due:
            return
        with self._lock:
            self._due = now + _BREATH
            self._open()
            if self._display is not None:
                self._display.show(task)

    def end(self, task: Task) -> None:
        with self._lock:
            if task in self._tasks:
                self._tasks.remove(task)
            if self._display is not None:
                self._display.remove(task)
            if not self._tasks and self._given is None:
                self._stop()

    def close(self) -> None:
        with self._lock:
            self._stop()

    def clear(self) -> None:
        with self._lock:
            if self._display is not None:
                self._stop()
                self._wait()

    def pause(self) -> None:
        with self._lock:
            timer = self._timer
            self._stop()
        if timer is not None:
            timer.join()

    def resume(self) -> None:
        with self._lock:
            if self._tasks:
                self._wait()

    def _wait(self) -> None:
        """Start to count the seconds. A timer opens the display of a terminal; a notebook shows its thread's work."""
        if self.silent or not _is_watched():
            self._due = float("inf")
            return
        self._due = time.monotonic() + PATIENCE
        if not _in_notebook():
            self._open_after(PATIENCE)

    def _open_after(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._beat)
        self._timer.daemon = True
        self._timer.start()

    def _beat(self) -> None:
        """Open the display of a terminal, and show the time that has passed until it is closed."""
        with self._lock:
            if self._timer is threading.current_thread() and self._tasks:
                self._open()
                self._show_all()
                self._open_after(_BEAT)

    def _open(self) -> None:
        with self._lock:
            if self._display is None and self._tasks and not self.silent and _is_watched():
                self._display = _Bars(notebook=_in_notebook())
                self._show_all()

    def _show_all(self) -> None:
        for task in list(self._tasks):
            if self._display is not None:  # a notebook may write something meanwhile, which takes it away
                self._display.show(task)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._display is not None:
            self._display.close()
            self._display = None


class _Bars:
    """A bar for each task: on standard error of a terminal, or below the cell of a notebook."""

    def __init__(self, *, notebook: bool) -> None:
        self._notebook = notebook
        self._bars: dict[int, Any] = {}

    def show(self, task: Task) -> None:
        bar = self._bars.get(id(task))
        if bar is None:
            bar = self._bars[id(task)] = self._bar(task)
        bar.update(task.done - int(bar.n))
        if not self._notebook:
            bar.bar_format = _form(task)
            bar.refresh()  # with the time that has passed

    def _bar(self, task: Task) -> Any:
        scaled = task.unit == "B"
        if self._notebook:
            from tqdm.notebook import tqdm as below_cell

            if not HAS_THREADS:
                below_cell.monitor_interval = 0  # seconds between looks of a thread of its own
            return below_cell(total=task.total, desc=task.text, leave=False, unit=task.unit, unit_scale=scaled)
        from tqdm.std import tqdm as line

        bar = line(
            total=task.total,
            desc=task.text,
            leave=False,
            unit=task.unit,
            unit_scale=scaled,
            bar_format=_form(task),
            file=sys.__stderr__ if sys.__stderr__ is not None else sys.stderr,
            ncols=shutil.get_terminal_size().columns - 1,
        )
        bar.start_t -= time.monotonic() - task.started
        return bar

    def remove(self, task: Task) -> None:
        bar = self._bars.pop(id(task), None)
        if bar is not None:
            bar.close()

    def close(self) -> None:
        for bar in self._bars.values():
            bar.close()
        self._bars.clear()


def _form(task: Task) -> str:
    """The line of a task in a terminal: how many of how many, how many, or the time alone."""
    if task.total is not None:
        return _OF_KNOWN
    return _OF_COUNTED if task.done else _OF_UNKNOWN


def _in_notebook() -> bool:
    """True if this process is the kernel of a notebook. Its library alone may be imported anywhere."""
    if sys.modules.get("IPython") is None:  # not imported, or barred from being so
        return False
    from IPython.core.getipython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def _is_watched() -> bool:
    """True if there is a terminal or a notebook to draw in."""
    return _in_notebook() or (sys.stderr.isatty() and os.environ.get("TERM") != "dumb")


_WATCH: Final = _Watch()
_OWN: Final[ContextVar[_Watch | None]] = ContextVar("simkit-progress", default=None)
