"""One process of a container: its tasks side by side, the streams between them, and the time that passes.

A task is a generator. It yields an effect where it has to wait, and the kernel resumes it. Time is the cluster's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.script import Unsupported
from simkit.simulation.shell.signals import BY_SIGNAL, CODE, NUMBERS, Interrupted, Signals
from simkit.simulation.shell.user_files import UserFiles

STDOUT, STDERR = "stdout", "stderr"
FOREVER: Final = 1e12
"""Seconds that never pass."""
_FULL: Final = 64 * 1024
"""Bytes in a pipe at which its writer waits."""
_LONGEST_LINE: Final = 16 << 20
_MOST_TASKS: Final = 1000
_MOST_STEPS: Final = 20_000
"""Commands and turns of loops after which a second passes, if the script lets none pass."""
_LOOK_UP: Final = 20
"""Those after which other tasks, and whoever drives the process, have their turn."""


class Write(NamedTuple):
    """Bytes for an output of the container."""

    data: bytes
    stream: str = STDOUT


class Read(NamedTuple):
    """A wish for a line of the container's input, or for all there is; answered with no bytes at the end."""

    everything: bool = False
    within: float | None = None
    """The seconds after which the wish is over."""


class Sleep(NamedTuple):
    """Seconds that pass."""

    seconds: float


class Until(NamedTuple):
    """Wait until something holds, or a signal comes, or seconds have passed."""

    ready: Callable[[], bool]
    seconds: float = FOREVER


Effect = Write | Read | Sleep | Until
Run = Generator[Effect, bytes, int]
"""Steps of a command up to its exit code."""
Steps = Generator[Effect, bytes, None]
Bytes = Generator[Effect, bytes, bytes]


class BrokenPipe(Exception):
    """Nobody reads what a command writes."""


class TooManyTasks(Exception):
    """More commands side by side than a container may have."""


# Streams


class Stream:
    """Something that is read or written under a number. This one refuses both."""

    def retain(self) -> Stream:
        """Have one more user."""
        return self

    def release(self) -> None:
        """Have one user less."""

    def write(self, data: bytes) -> Steps:
        """Write bytes. Raises FileError, or BrokenPipe."""
        raise FileError("Bad file descriptor")

    def read(self, *, everything: bool = False, within: float | None = None) -> Bytes:
        """A line, or some of all there is; no bytes at the end. Raises FileError."""
        raise FileError("Bad file descriptor")


class ContainerStream(Stream):
    """The input and one of the outputs of the container."""

    def __init__(self, name: str = STDOUT) -> None:
        self._name = name

    def write(self, data: bytes) -> Steps:
        if data:
            yield Write(data, self._name)

    def read(self, *, everything: bool = False, within: float | None = None) -> Bytes:
        return (yield Read(everything, within))


class BytesStream(Stream):
    """Bytes that are there, such as a file or a here-document."""

    def __init__(self, data: bytes = b"") -> None:
        self._data, self._at = data, 0

    def read(self, *, everything: bool = False, within: float | None = None) -> Bytes:
        end = len(self._data) if everything else self._data.find(b"\n", self._at) + 1 or len(self._data)
        found, self._at = self._data[self._at : end], end
        yield from ()
        return found


class FileStream(Stream):
    """A file that is written. Raises FileError where that cannot be."""

    def __init__(self, files: UserFiles, path: str, *, append: bool) -> None:
        self._files, self.path = files, path
        self._size = None if append else 0
        """The size of the file as this stream has left it; None where it writes to the end in any case."""
        if not append or not files.is_file(path):
            files.write(path, b"")
        elif not files.may(path, "w"):
            raise FileError("Permission denied")

    def write(self, data: bytes) -> Steps:
        if self._size is not None:
            if not self._files.is_file(self.path) or self._files.size(self.path) != self._size:
                raise Unsupported(f"writing to {self.path}, which something else has changed meanwhile")
            self._size += len(data)
        self._files.write(self.path, data, append=True)
        yield from ()
        return


class Pipe:
    """Bytes on their way from writers to readers."""

    def __init__(self) -> None:
        self.data, self.writers, self.readers = bytearray(), 0, 0

    def is_full(self) -> bool:
        """True if a writer has to wait."""
        return self.readers > 0 and len(self.data) >= _FULL

    def take(self, *, everything: bool) -> bytes:
        """The bytes up to the end of a line, else all."""
        end = 0 if everything else self.data.find(b"\n") + 1
        found = bytes(self.data[: end or len(self.data)])
        del self.data[: len(found)]
        return found


class PipeWriter(Stream):
    """The end of a pipe that is written to."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        pipe.writers += 1

    def retain(self) -> Stream:
        self._pipe.writers += 1
        return self

    def release(self) -> None:
        self._pipe.writers -= 1

    def write(self, data: bytes) -> Steps:
        pipe = self._pipe
        while pipe.is_full():
            yield Until(lambda: not pipe.is_full())
        if not pipe.readers:
            raise BrokenPipe
        pipe.data += data


class PipeReader(Stream):
    """The end of a pipe that is read."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        pipe.readers += 1

    def retain(self) -> Stream:
        self._pipe.readers += 1
        return self

    def release(self) -> None:
        self._pipe.readers -= 1

    def read(self, *, everything: bool = False, within: float | None = None) -> Bytes:
        pipe, line = self._pipe, bytearray()
        while True:
            while not pipe.data and pipe.writers:
                yield Until(lambda: bool(pipe.data) or not pipe.writers)
            found = pipe.take(everything=everything)
            line += found
            if everything or not found or line.endswith(b"\n") or len(line) > _LONGEST_LINE:
                return bytes(line)


# Tasks


class Held(Protocol):
    """The streams of a task's shell."""

    streams: dict[int, Stream]

    def release(self) -> None:
        """Let go of all streams."""


class Task:
    """A command that runs beside others, at its present step."""

    __slots__ = ("_held", "code", "effect", "following", "foreground", "pid", "run", "signals", "wakes")

    def __init__(self, run: Run, signals: Signals, pid: int, held: Held, *, foreground: bool) -> None:
        self.run, self.signals, self.pid, self.foreground, self._held = run, signals, pid, foreground, held
        self.following: Callable[[], Effect] = partial(next, run)
        self.effect: Effect | None = None
        """What it waits for."""
        self.wakes = 0.0
        self.code: int | None = None

    def end(self, code: int) -> None:
        """End it, whatever it does."""
        if self.code is None:
            self.run.close()
            self._ended(code)

    def _ended(self, code: int) -> None:
        self.code = code
        self._held.release()

    def step(self, now: float) -> None:
        """Let it run up to its next effect."""
        try:
            effect = self.effect = self.following()
        except StopIteration as end:
            self._ended(int(end.value))
        except BrokenPipe:
            self._ended(BY_SIGNAL + NUMBERS["PIPE"])
        else:
            wait = effect.seconds if isinstance(effect, Sleep | Until) else FOREVER
            if isinstance(effect, Read) and effect.within is not None:
                wait = effect.within
            self.wakes = now + wait if wait < FOREVER else FOREVER
            self.answer()

    def answer(self, data: bytes = b"") -> None:
        """Have it go on with an answer to its effect."""
        self.following = partial(self.run.send, data)

    def is_ready(self, now: float) -> bool:
        """True if it can go on."""
        effect = self.effect
        if isinstance(effect, Until):
            return effect.ready() or self.wakes <= now or self.signals.take_news()
        return not isinstance(effect, Read | Sleep) or self.wakes <= now

    def writes_to_container(self) -> bool:
        """True if one of its streams is an output of the container."""
        held = self._held.streams
        return self.code is None and any(isinstance(held.get(number), ContainerStream) for number in (1, 2))


class Kernel:
    """The tasks of one process, in turns.

    Parameters
    ----------
    protected
        Whether signals without a trap are ignored, as for the first process of a container.
    """

    def __init__(self, started: float = 0.0, pid: int = 1, *, protected: bool = False) -> None:
        self.now, self.first_pid, self.last_pid = started, pid, pid
        self.protected = protected
        self.tasks: list[Task] = []
        self._steps = 0

    def spawn(self, run: Run, signals: Signals, held: Held, *, pid: int = 0, foreground: bool = True) -> Task:
        """Start a task. Raises TooManyTasks."""
        if len(self.tasks) >= _MOST_TASKS:
            raise TooManyTasks
        made = Task(run, signals, pid or self.first_pid, held, foreground=foreground)
        self.tasks.append(made)
        return made

    def new_pid(self) -> int:
        """The number of a new process."""
        self.last_pid += 1
        return self.last_pid

    def tick(self) -> Steps:
        """Give others their turn now and then; a second passes where a script does very much in no time."""
        self._steps += 1
        if self._steps % _MOST_STEPS == 0:
            yield Sleep(1.0)
        elif self._steps % _LOOK_UP == 0:
            yield Sleep(0.0)

    def run(self, until: Task | None, *, heard: Callable[[], bool] = lambda: False) -> Generator[Effect, Any, None]:
        """Run tasks until one has ended, or all; and on while somebody hears what the others write.

        An ``Interrupted`` that is thrown in goes to the foreground. ``Unsupported`` passes through, and ends all.
        """
        try:
            while (bool(self.tasks) if until is None else until.code is None) or (self.tasks and heard()):
                moved = False
                for task in tuple(self.tasks):
                    if task.signals.ended_by:
                        task.end(task.signals.ended_by)
                    if task.code is None and task.is_ready(self.now):
                        moved = True
                        yield from self._step(task, until)
                    if task.code is not None and task in self.tasks:
                        self.tasks.remove(task)
                        moved = True
                if not moved:
                    yield from self._idle(until)
        except (Unsupported, GeneratorExit):
            for task in tuple(self.tasks):
                task.end(BY_SIGNAL + NUMBERS["KILL"])
            self.tasks.clear()
            raise

    def _step(self, task: Task, until: Task | None) -> Generator[Effect, Any, None]:
        task.step(self.now)
        effect = task.effect
        if task.code is None and isinstance(effect, Write):
            yield from self._interruptible(effect, until)
            task.effect = None
        elif task.code is None and isinstance(effect, Sleep) and effect.seconds <= 0.0:
            yield from self._interruptible(effect, until)

    def _idle(self, until: Task | None) -> Generator[Effect, Any, None]:
        """Have time pass, or input come, until one of the tasks can go on."""
        waiting = min((each.wakes for each in self.tasks), default=FOREVER)
        seconds = max(0.0, waiting - self.now) if waiting < FOREVER else FOREVER
        reader = next((each for each in self.tasks if isinstance(each.effect, Read)), None)
        if reader is None or not isinstance(reader.effect, Read):
            yield from self._interruptible(Until(lambda: False, seconds), until)
            return
        within = None if seconds >= FOREVER else seconds
        found = yield from self._interruptible(Read(reader.effect.everything, within), until)
        if found is not None and (found or within is None or self.now < waiting):
            reader.answer(found)
            reader.effect = None

    def _interruptible(self, effect: Effect, until: Task | None) -> Generator[Effect, Any, bytes | None]:
        """Yield an effect; an interruption ends what runs in the foreground. None then, and where a signal came."""
        try:
            answer: bytes | None = yield effect
        except Interrupted as problem:
            if until is None or until.code is not None:
                raise
            for each in self.tasks:
                if each.foreground and each is not until:
                    each.end(CODE)
            until.effect, until.following = None, partial(until.run.throw, problem)
            return None
        return answer
