"""Commands that run side by side: those of a pipeline, and jobs in the background.

One task after the other makes a step. Where none can, the driver is told when the first of them goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from simkit.simulation.shell.effects import LONGEST_LINE
from simkit.simulation.shell.interruption import Interrupted
from simkit.simulation.shell.machine import FOREVER, STDOUT, Effect, Pause, Read, Run, Shared, Spawn, Write
from simkit.simulation.shell.signals import BY_SIGNAL, NUMBERS, Signals

if TYPE_CHECKING:
    from simkit.simulation.shell.redirections import Route

_FULL: Final = 64 * 1024
"""Bytes in a pipe at which its writer waits."""
_MOST_TASKS: Final = 1000
_BROKEN: Final = BY_SIGNAL + NUMBERS["PIPE"]


class TooManyTasks(Exception):
    """More commands side by side than a container may have."""


class Pipe:
    """Bytes on their way from writers to a reader.

    Parameters
    ----------
    writers
        The number of tasks that may still write.
    limit, most
        The bytes at which a writer waits, and those that it may hold at all; 0 for none.
    ends
        Whether a writer of more than that ends; else its bytes are dropped.

    Examples
    --------
    >>> pipe = Pipe(b"a\\nb")
    >>> pipe.take(Read()), pipe.take(Read()), pipe.take(Read())
    (b'a\\n', b'b', b'')
    """

    __slots__ = ("_data", "_ends", "_hungry", "_most", "_searched", "closed", "limit", "overflowed", "writers")

    def __init__(
        self, data: bytes = b"", *, writers: int = 0, limit: int = 0, most: int = 0, ends: bool = False
    ) -> None:
        self._data, self._searched, self._most, self._ends = bytearray(data), 0, most, ends
        self.overflowed = False
        """True if more was written than it may hold."""
        self.writers, self.limit = writers, limit
        self.closed = False
        """True if nobody reads any more."""
        self._hungry = False
        """True if its reader waits for the end of a line."""

    @property
    def full(self) -> bool:
        """True if a writer has to wait."""
        return bool(self.limit) and len(self._data) >= (LONGEST_LINE if self._hungry else self.limit)

    def put(self, data: bytes) -> None:
        """Write bytes. Those are dropped that are more than it may hold."""
        left = self._most - len(self._data) if self._most else len(data)
        self._data += data[:left]
        if len(data) > left:
            self.overflowed, self.closed = True, self.closed or self._ends

    def take(self, wish: Read) -> bytes | None:
        """The bytes that are read, none at the end; None while they are still to come."""
        if wish.everything:
            end = len(self._data)
        else:
            end = self._data.find(b"\n", self._searched) + 1
            if not end:
                self._searched = len(self._data)
                end = 0 if self.writers else len(self._data)
        if not end and self.writers and not self.full:
            self._hungry = not wish.everything
            return None
        end, self._hungry = end or len(self._data), False
        found = bytes(self._data[:end])
        del self._data[:end]
        self._searched = 0
        return found


class Task:
    """A command at its present step. Raises TooManyTasks.

    Parameters
    ----------
    signals
        Those that end it.
    source
        Where it reads; None for the input of all.
    sink
        Where its standard output goes; None for the output of all.
    """

    __slots__ = (
        "_shared",
        "code",
        "following",
        "on_end",
        "pauses",
        "routes",
        "run",
        "signals",
        "sink",
        "source",
        "wakes",
        "wish",
    )

    def __init__(
        self, shared: Shared, run: Run, signals: Signals, *, source: Pipe | None = None, sink: Pipe | None = None
    ) -> None:
        if shared.tasks >= _MOST_TASKS:
            raise TooManyTasks
        shared.tasks += 1
        self._shared, self.run, self.signals, self.source, self.sink = shared, run, signals, source, sink
        self.following: Callable[[], Effect] = partial(next, run)
        self.wakes = 0.0
        """The time at which it goes on."""
        self.pauses = False
        """True if it goes on as soon as something happens."""
        self.wish: Read | None = None
        """Its wish for input."""
        self.code: int | None = None
        self.routes: list[Route] = []
        """Redirections of the commands around it when it was started."""
        self.on_end: Callable[[int], object] = int
        """Called with its exit code."""

    def step(self) -> Effect | None:
        """The effect of its next step; None if it has ended."""
        try:
            return self.following()
        except StopIteration as end:
            self.end(int(end.value))
            return None

    def answer(self, data: bytes) -> None:
        """Let it go on with an answer."""
        self.wish, self.pauses, self.wakes = None, False, 0.0
        self.following = partial(self.run.send, data)

    def end(self, code: int) -> None:
        """End it."""
        if self.code is None:
            self.code = code
            self._shared.tasks -= 1
            self.run.close()
            if self.source is not None:
                self.source.closed = True
            if self.sink is not None:
                self.sink.writers -= 1
            self.on_end(code)

    @property
    def blocked(self) -> bool:
        """True if it waits for the reader of its pipe."""
        return self.wish is None and self.sink is not None and self.sink.full and not self.sink.closed

    def writes_elsewhere(self) -> bool:
        """True if nothing that it writes goes to its standard output."""
        effects = [Write(b"", stream) for stream in (STDOUT, "stderr")]
        for route in self.routes:
            effects = [route.led(each) for each in effects]
        return all(each.stream != STDOUT for each in effects)


def together(
    shared: Shared, tasks: Sequence[Task], *, until: Task | None = None, heard: bool = False
) -> Generator[Effect, bytes, None]:
    """Run tasks side by side until one of them has ended, or all of them. Whatever runs on then is spawned upwards.

    ``heard`` says that tasks are waited for whose output somebody still hears.
    """
    group = _Group(shared, list(tasks), until, heard=heard)
    try:
        yield from group.run()
    except BaseException:
        for task in group.tasks:
            task.end(0)
        raise


class _Group:
    def __init__(self, shared: Shared, tasks: list[Task], until: Task | None, *, heard: bool) -> None:
        self._shared, self.tasks, self._until, self._heard = shared, tasks, until, heard

    def run(self) -> Generator[Effect, bytes, None]:
        steps = 0
        while not self._done():
            moved = False
            for task in tuple(self.tasks):
                if self._ready(task):
                    moved, steps = True, steps + 1
                    yield from self._step(task)
                if task.code is not None:
                    self._remove(task)
                    moved = True
            if not moved:
                yield from self._idle()
            elif steps >= 20:
                steps = 0
                yield from self._interruptible(0.0)
        for task in self.tasks:
            yield Spawn(task)

    def _done(self) -> bool:
        if self._until is None:
            return not self.tasks
        left = self.tasks if self._heard else ()
        return self._until.code is not None and all(each.writes_elsewhere() for each in left)

    def _remove(self, task: Task) -> None:
        self.tasks.remove(task)
        self._rouse()

    def _rouse(self) -> None:
        """Let tasks go on that wait for something to happen."""
        for each in self.tasks:
            if each.pauses:
                each.wakes = 0.0

    def _ready(self, task: Task) -> bool:
        """True if it can make a step. One whose signal or whose reader is gone ends."""
        if task.signals.ended_by:
            task.end(task.signals.ended_by)
        if task.code is not None:
            return False
        if task.wish is not None:
            if task.source is not None and (found := task.source.take(task.wish)) is not None:
                task.answer(found)
                return True
            return self._time_is_over(task)
        if task.blocked:
            return False
        return task.wakes <= self._shared.now or (task.pauses and task.signals.take_news())

    def _time_is_over(self, task: Task) -> bool:
        """True if it has waited for input as long as it wanted; it is answered then."""
        if task.wish is None or task.wish.within is None or task.wakes > self._shared.now:
            return False
        task.answer(b"")
        return True

    def _step(self, task: Task) -> Generator[Effect, bytes, None]:
        effect = task.step()
        if isinstance(effect, Write):
            task.answer(b"")
            yield from self._written(task, effect)
        elif isinstance(effect, Read):
            task.wish = effect
            task.wakes = self._shared.now + (FOREVER if effect.within is None else effect.within)
        elif isinstance(effect, Spawn):
            task.answer(b"")
            yield from self._spawned(task, effect.task)
        elif effect == 0.0:
            task.answer(b"")
            yield from self._interruptible(0.0)
        elif effect is not None:
            task.answer(b"")
            seconds = effect.seconds if isinstance(effect, Pause) else effect
            task.wakes, task.pauses = self._shared.now + seconds, isinstance(effect, Pause)

    def _written(self, task: Task, effect: Write) -> Generator[Effect, bytes, None]:
        for route in task.routes:
            effect = route.led(effect)
        if effect.stream != STDOUT or task.sink is None:
            if effect.data:
                yield from self._interruptible(effect)
        elif task.sink.closed:
            task.end(_BROKEN)
        else:
            task.sink.put(effect.data)

    def _spawned(self, spawner: Task, task: Task) -> Generator[Effect, bytes, None]:
        """Keep a task that writes to a pipe of this group, or that nobody else would keep."""
        task.routes += spawner.routes
        if spawner.sink is not None and not task.writes_elsewhere():
            task.sink = spawner.sink
            spawner.sink.writers += 1
        elif self._until is None:
            yield Spawn(task)
            return
        self.tasks.append(task)

    def _idle(self) -> Generator[Effect, bytes, None]:
        """Have time pass, or input come, until one of the tasks can go on."""
        reader = next((each for each in self.tasks if each.wish is not None and each.source is None), None)
        wakes = min((each.wakes for each in self.tasks if not each.blocked), default=FOREVER)
        seconds = max(0.0, wakes - self._shared.now)
        if reader is not None and reader.wish is not None:
            wish = Read(reader.wish.everything, None if seconds >= FOREVER / 2 else seconds)
            found = yield from self._interruptible(wish)
            if found or wish.within is None or self._shared.now < wakes:
                reader.answer(found)
        elif any(each.pauses for each in self.tasks):
            yield from self._interruptible(Pause(seconds))
            self._rouse()  # what has happened may be the end of a job that runs further up
        else:
            yield from self._interruptible(seconds)

    def _interruptible(self, effect: Effect) -> Generator[Effect, bytes, bytes]:
        """Yield an effect; an interruption goes to the task for which all of this is done."""
        try:
            return (yield effect)
        except Interrupted as problem:
            if self._until is None or self._until.code is not None:
                raise
            self._until.wish, self._until.pauses, self._until.wakes = None, False, 0.0
            self._until.following = partial(self._until.run.throw, problem)
            return b""
