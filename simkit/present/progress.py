"""Progress of what takes a while, where somebody may be watching: on a terminal or in a notebook.

Nothing is shown, and no library that draws is imported, before somebody has waited for two seconds; nothing at all
where standard error is a file or a pipe, or after ``silence``. What is shown goes away at the end.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeVar

PATIENCE: Final = 2.0
"""Seconds before something is shown."""
_BREATH: Final = 0.1
"""Seconds between two changes of what is shown."""
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
            self._timer = threading.Timer(PATIENCE, self._open)
            self._timer.daemon = True
            self._timer.start()

    def _open(self) -> None:
        with self._lock:
            if self._display is None and self._tasks and not self.silent and _is_watched():
                self._display = _NotebookDisplay() if _in_notebook() else _TerminalDisplay()
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


class _TerminalDisplay:
    """Lines on standard error: what is done, a bar where the end is known, and the time."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
        stream = sys.__stderr__ if sys.__stderr__ is not None else sys.stderr
        console = Console(file=stream, no_color=bool(os.environ.get("NO_COLOR")), highlight=False)
        self._progress = Progress(
            *columns,
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            get_time=time.monotonic,
        )
        self._numbers: dict[int, TaskID] = {}
        self._progress.start()

    def show(self, task: Task) -> None:
        number = self._numbers.get(id(task))
        text = _told(task)
        if number is None:
            number = self._progress.add_task(text, total=task.total, completed=task.done)
            self._numbers[id(task)] = number
            self._progress.tasks[-1].start_time = task.started
        else:
            self._progress.update(number, description=text, completed=task.done)

    def remove(self, task: Task) -> None:
        number = self._numbers.pop(id(task), None)
        if number is not None:
            self._progress.remove_task(number)

    def close(self) -> None:
        self._progress.stop()


class _NotebookDisplay:
    """Bars below the cell."""

    def __init__(self) -> None:
        self._bars: dict[int, Any] = {}

    def show(self, task: Task) -> None:
        bar = self._bars.get(id(task))
        if bar is None:
            from tqdm.notebook import tqdm

            scaled = task.unit == "B"
            bar = tqdm(total=task.total, desc=task.text, leave=False, unit=task.unit or "", unit_scale=scaled)
            self._bars[id(task)] = bar
        bar.update(task.done - int(bar.n))

    def remove(self, task: Task) -> None:
        bar = self._bars.pop(id(task), None)
        if bar is not None:
            bar.close()

    def close(self) -> None:
        for bar in self._bars.values():
            bar.close()
        self._bars.clear()


def _told(task: Task) -> str:
    """The line of a task: how many of how many, or how much of what is read."""
    if task.unit == "B":
        return f"{task.text} {task.done / 1e6:,.0f} MB"
    if task.total is not None:
        return f"{task.text} {task.done:,.0f}/{task.total:,.0f}"
    return f"{task.text} {task.done:,.0f}" if task.done else task.text


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
